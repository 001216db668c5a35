# SPDX-License-Identifier: Apache-2.0
"""Runs on a lab host: print all that a deployment may have touched there, as JSON. Python 3.9 and newer.

All of /etc, because "it changed nothing else" has to be shown and not assumed. What the lab itself keeps is left out.
"""

from __future__ import annotations

import contextlib
import grp
import hashlib
import json
import os
import pwd
import stat
import subprocess
import sys
from pathlib import Path

ROOTS = ("/etc", "/usr/local", "/opt", "/srv", "/root", "/home")
OWN = ("/var/lib/gpuhosts-vllm", "/var/cache/gpuhosts-vllm", "/run/gpuhosts-vllm")
SKIP = ("/root/.ansible", "/root/.cache", "/root/.bash_history", "/etc/ssh/ssh_host_", "/usr/local/lab")
UNITS = ("vllm-*", "gpuhosts-vllm-*", "docker.service", "containerd.service")
SHOWN = "ActiveState,SubState,UnitFileState,InvocationID,NRestarts,FragmentPath"
PATTERN_LIST = ("--no-legend", "--plain")


def name(lookup, number):
    try:
        return lookup(number)[0]
    except KeyError:
        return str(number)


def digest(path):
    hashed = hashlib.sha256()
    with path.open("rb") as handle:
        for part in iter(lambda: handle.read(1 << 20), b""):
            hashed.update(part)
    return hashed.hexdigest()


def entry(path):
    """Mode and owner of a file, and its content by hash, or where a link leads."""
    info = path.lstat()
    owner = name(pwd.getpwuid, info.st_uid) + ":" + name(grp.getgrgid, info.st_gid)
    what = {"mode": oct(stat.S_IMODE(info.st_mode)), "owner": owner}
    if stat.S_ISLNK(info.st_mode):
        what["link"] = str(path.readlink())
    elif stat.S_ISREG(info.st_mode):
        what["sha256"] = digest(path)
    else:
        what["kind"] = "folder" if stat.S_ISDIR(info.st_mode) else oct(stat.S_IFMT(info.st_mode))
    return what


def walk(root):
    """All paths below a folder and itself; links to folders are not followed."""
    for at, folders, names in os.walk(root):
        folder = Path(at)
        folders[:] = [one for one in folders if not str(folder / one).startswith(SKIP)]
        yield folder
        yield from (folder / one for one in names)
        yield from (folder / one for one in folders if (folder / one).is_symlink())


def files():
    found = {}
    for root in (*ROOTS, *OWN):
        for path in walk(root):
            if not str(path).startswith(SKIP):
                with contextlib.suppress(FileNotFoundError):  # gone since it was listed
                    found[str(path)] = entry(path)
    return found


def output(*command):
    """What a command says, or nothing when it fails or is not installed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def lines(*command):
    return sorted(line.rstrip() for line in output(*command).splitlines() if line.strip())


def units():
    listed = [line.split()[0] for line in lines("systemctl", "list-units", "--all", *PATTERN_LIST, *UNITS)]
    shown = {unit: lines("systemctl", "show", "--property=" + SHOWN, unit) for unit in listed}
    return {unit: dict(line.split("=", 1) for line in text) for unit, text in shown.items()}


def containers():
    ids = lines("docker", "ps", "-aq", "--no-trunc")
    found = json.loads(output("docker", "inspect", *ids)) if ids else []
    return {
        one["Name"].lstrip("/"): {
            "id": one["Id"],
            "image": one["Image"],
            "status": one["State"]["Status"],
            "started": one["State"]["StartedAt"],
            "labels": one["Config"]["Labels"],
        }
        for one in found
    }


def engine():
    # Not `docker info`: the socket would start a Docker that is down, and looking must change nothing.
    if output("systemctl", "is-active", "docker.service").strip() != "active":
        return {"reachable": False}
    image = "{{.Repository}}:{{.Tag}}@{{.Digest}} {{.ID}}"
    return {
        "reachable": True,
        "containers": containers(),
        "images": lines("docker", "images", "--no-trunc", "--digests", "--format", image),
        "networks": lines("docker", "network", "ls", "--format", "{{.Name}} {{.Driver}}"),
        "volumes": lines("docker", "volume", "ls", "--format", "{{.Name}}"),
    }


seen = {
    "files": files(),
    "units": units(),
    "unit_files": lines("systemctl", "list-unit-files", *PATTERN_LIST),
    "docker": engine(),
    "packages": lines("dpkg-query", "-W", "-f", "${Package}=${Version} ${db:Status-Abbrev}\n"),
    "held": lines("apt-mark", "showhold"),
}
json.dump(seen, sys.stdout)
