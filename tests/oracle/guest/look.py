# SPDX-License-Identifier: Apache-2.0
"""Runs on a host as root and prints one JSON object: all that an oracle needs to know. It changes nothing.

Its only argument is JSON: how long to wait until nothing starts or stops any more, and whether a run may be open.
Docker is asked only where its unit is active: the socket would start it.
"""

import fcntl
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

STATE, RUN, CONFIG = (Path(top, "gpuhosts-vllm") for top in ("/var/lib", "/run", "/etc"))
UNITS = Path("/etc/systemd/system")
TOOLS = Path("/usr/local/lib/gpuhosts-vllm")
CACHES = Path("/var/cache/gpuhosts-vllm")
SERVICE, PROBE = "io.gpuhosts.vllm.service", "io.gpuhosts.vllm.probe"
MOVING = ("activating", "deactivating", "reloading")
PROPERTIES = "Id,LoadState,ActiveState,SubState,InvocationID,MainPID,UnitFileState,Result"


def said(*argv, seconds=60, check=True):
    """Say what a command printed; None when it failed, is not there or did not end."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 or not check else None


def text(path):
    """Read a file; nothing when it is not there."""
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return None


def units():
    """Every unit of ours that systemd knows, and Docker's, by name."""
    listed = said("systemctl", "list-units", "--all", "--plain", "--no-legend", "vllm-*.service", "gpuhosts-vllm-*")
    names = {line.split()[0] for line in (listed or "").splitlines() if line.strip()}
    names |= {path.name for path in UNITS.glob("vllm-*.service")}
    names |= {f"vllm-{name}.service" for name in services()}
    shown = said("systemctl", "show", "--no-pager", f"--property={PROPERTIES}", "docker.service", *sorted(names))
    blocks = [
        dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in (shown or "").split("\n\n")
    ]
    return {block["Id"]: block for block in blocks if "Id" in block}


def services():
    """The services that have a folder."""
    return sorted(path.name for path in STATE.iterdir() if path.is_dir()) if STATE.is_dir() else []


def settle(seconds, open_run):
    """Wait until nothing starts or stops and no driver is left; give the units as they are then."""
    end = time.monotonic() + seconds
    while True:
        found = units()
        moving = [name for name, unit in found.items() if unit["ActiveState"] in MOVING]
        drivers = [
            name
            for name, unit in found.items()
            if name.startswith("gpuhosts-vllm-run-") and unit["LoadState"] != "not-found"
        ]
        if open_run or not (moving or drivers) or time.monotonic() > end:
            return found
        time.sleep(0.2)


def containers():
    """Every container of this host; None where Docker does not answer."""
    ids = said("docker", "ps", "--all", "--quiet", "--no-trunc")
    if ids is None:
        return None
    if not ids.split():
        return []
    shown = said("docker", "inspect", "--type", "container", *ids.split(), check=False)  # one may go meanwhile
    return [container(data) for data in json.loads(shown or "[]")]


def container(data):
    """What is asked of one container."""
    settings = data.get("NetworkSettings") or {}
    networks = (settings.get("Networks") or {}).values()
    return {
        "id": data["Id"],
        "name": data["Name"].lstrip("/"),
        "status": data["State"]["Status"],
        "pid": data["State"]["Pid"],
        "labels": data["Config"].get("Labels") or {},
        "network": data["HostConfig"]["NetworkMode"],
        "addresses": sorted({each["IPAddress"] for each in networks if each.get("IPAddress")}),
    }


def processes():
    """Every process by its id: parent, words, control group."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
            parent = int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[1])
            group = (folder / "cgroup").read_text(errors="replace")
        except (OSError, ValueError, IndexError):
            continue
        found[folder.name] = {"parent": parent, "words": words[:16], "group": re.findall("[0-9a-f]{64}", group)[:1]}
    return found


def listeners():
    """Every listening TCP socket: address, port, processes that hold it."""
    found = []
    for line in (said("ss", "-Hltnp") or "").splitlines():
        fields = line.split(None, 5)
        address, _colon, port = fields[3].rpartition(":")
        holders = [int(pid) for pid in re.findall(r"pid=(\d+)", fields[5] if len(fields) > 5 else "")]
        found.append({"address": address.strip("[]").partition("%")[0], "port": int(port), "pids": holders})
    return found


def gpu_processes():
    """Every process that holds GPU memory, as nvidia-smi says; None where there is no nvidia-smi."""
    listed = said("nvidia-smi", "--query-compute-apps=pid,process_name", "--format=csv,noheader")
    if listed is None:
        return None
    rows = [line.split(",", 1) for line in listed.splitlines() if "," in line]
    return [{"pid": pid.strip(), "name": name.strip()} for pid, name in rows]


def locked(path):
    """Whether a process holds the lock on a file."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def release(folder):
    """The files of a release with their sizes and modes, and what its record says of the port."""
    files = {
        each.name: [each.stat().st_size, each.stat().st_mode & 0o777] for each in folder.iterdir() if each.is_file()
    }
    try:
        record = json.loads(text(folder / "release.json") or "{}")
    except ValueError:
        record = {}
    content, host = record.get("content") or {}, record.get("host") or {}
    return {"files": files, "uid": host.get("uid"), **{key: content.get(key) for key in ("port", "bind", "network")}}


def start(folder):
    """What is kept of one start."""
    sizes = {each.name: each.stat().st_size for each in folder.iterdir() if each.is_file()}
    return {"state": text(folder / "state.json"), "files": sizes}


def link(path):
    """What a link says; None when there is none."""
    return str(path.readlink()) if path.is_symlink() else None


def service(name):
    """One service."""
    state, run, secrets = STATE / name, RUN / name, CONFIG / name / "secrets"
    releases = [folder for folder in (state / "releases").glob("*") if folder.is_dir()]
    starts = [folder for folder in (state / "starts").glob("*") if folder.is_dir()]
    about = secrets.stat() if secrets.exists() else None
    return {
        "journal": text(state / "journal.jsonl"),
        "starts": {folder.name: start(folder) for folder in starts},
        "releases": {folder.name: release(folder) for folder in releases},
        "current": link(state / "current"),
        "last_good": link(state / "last_good"),
        "stopped": (state / "stopped").exists(),
        "run": (text(run / "run") or "").strip() or None,
        "cid": (text(run / "cid") or "").strip() or None,
        "secrets": about and {"mode": about.st_mode & 0o7777, "uid": about.st_uid},
    }


def tree():
    """Every file and folder that the collection keeps; of the caches, which engines fill, the upper folders only."""
    for top in (STATE, RUN, CONFIG, TOOLS):
        for folder, names, files in os.walk(top):
            yield from (Path(folder, name) for name in (*names, *files))
    yield from (path for pattern in ("*", "*/*") for path in CACHES.glob(pattern))
    yield from UNITS.glob("*vllm*")
    yield from UNITS.glob(".*")
    yield from Path("/etc/docker").glob(".*")


def logins_left(known):
    """Logins of pulls that have ended."""
    alive = {
        name[len("gpuhosts-vllm-job-") : -len(".service")] for name, unit in known.items() if unit["MainPID"] != "0"
    }
    return [path for path in Path("/run/gpuhosts-vllm-jobs").glob("*/secret/*") if path.parts[3] not in alive]


def main():
    """Look at everything once."""
    asked = json.loads(sys.argv[1])
    found = settle(asked["settle"], asked["open_run"])
    docker_runs = found.get("docker.service", {}).get("ActiveState") == "active"
    paths = list(tree())
    everybody = [str(path) for path in paths if not path.is_symlink() and path.exists() and path.stat().st_mode & 0o2]
    report = {
        "name": os.uname().nodename,
        "units": found,
        "containers": containers() if docker_runs else None,
        "services": {name: service(name) for name in services()},
        "processes": processes(),
        "listeners": listeners(),
        "gpu": gpu_processes(),
        "left_over": sorted(map(str, [*logins_left(found), *(p for p in paths if re.fullmatch(r"\..*\.new", p.name))])),
        "for_everybody": sorted(everybody),
        "locked": sorted(str(path) for path in RUN.rglob("*") if path.is_file() and locked(path)),
    }
    json.dump(report, sys.stdout)


main()
