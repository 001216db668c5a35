# SPDX-License-Identifier: Apache-2.0
"""Runs on a host as root: says where a secret is. Its input is JSON, so that it has no secret among its own words.

Searched are all files that were changed since the hunt began, whatever folder they are in, and what is no file: the
journal, what Docker and systemd say, the command lines that were sampled.
"""

import base64
import gzip
import json
import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

OWN = "/run/lab-hunt"
ROOTS = ("/", "/run", "/tmp", "/dev/shm", "/var/lib/docker")
PLACES = (
    ("units", "/etc/systemd/"), ("units", "/run/systemd/"), ("state", "/var/lib/gpuhosts-vllm/"), ("logs", "/run/log/"),
    ("logs", "/var/log/"), ("run", "/run/"), ("run", "/dev/shm/"), ("docker disk", "/var/lib/docker/"),
    ("docker disk", "/var/lib/containerd/"), ("caches", "/var/cache/"), ("tmp", "/tmp/"), ("tmp", "/var/tmp/"),
    ("tmp", "/root/"), ("tmp", "/home/"),
)  # fmt: skip


def said(*argv):
    """Give what a command prints, as bytes."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    return done.stdout


def changed_files(since):
    """Every regular file on the host's own disks that was changed since, without our own."""
    roots = [root for root in ROOTS if root == "/" or os.path.ismount(root)]
    own = ["(", "-path", OWN, "-prune", ")", "-o"]
    listed = said("find", *roots, "-xdev", *own, "-type", "f", "-newerct", f"@{since}", "-print0")
    return [path for path in listed.split(b"\0") if path]


def files_with(forms, paths):
    """The files that hold one of the forms; the forms are in memory only, not in a file and not in an argument."""
    memory = os.memfd_create("forms")
    os.write(memory, b"".join(form + b"\n" for form in forms))
    grep = ["grep", "-l", "-Z", "-a", "-F", "-D", "skip", "-f", f"/proc/{os.getpid()}/fd/{memory}", "--"]
    asked = b"\0".join(paths)
    done = subprocess.run(["xargs", "-0", "-r", *grep], input=asked, capture_output=True, timeout=300, check=False)
    return [path for path in done.stdout.split(b"\0") if path]


def packed(paths):
    """The files among them that are compressed, with what they hold; one that is none is searched as it is."""
    for path in (path for path in paths if path.endswith(b".gz")):
        try:
            yield path.decode(errors="replace"), gzip.decompress(Path(os.fsdecode(path)).read_bytes())
        except (OSError, EOFError, zlib.error):
            continue


def names_in(data, secrets):
    """The secrets that are in some bytes, with the form in which each is."""
    return sorted(name for name, forms in secrets.items() if any(form in data for form in forms))


def texts(since):
    """What is no file."""
    ids = said("docker", "ps", "--all", "--quiet", "--no-trunc").split()
    units = said("systemctl", "list-units", "--all", "--plain", "--no-legend", "--type=service").split(b"\n")
    ours = [line.split()[0] for line in units if b"vllm" in line or b"docker" in line or b"lab-" in line]
    yield "argv", "sampled command lines", (Path(OWN) / "argv").read_bytes()
    yield "journal", "journalctl", said("journalctl", "--no-pager", "--output=export", f"--since=@{since}")
    yield "docker inspect", "all containers", said("docker", "inspect", *ids) if ids else b""
    yield "docker events", "all", said("docker", "events", f"--since={since}", "--until=0s", "--format={{json .}}")
    yield "units", "systemctl show", said("systemctl", "show", *ours) if ours else b""


def place_of(path):
    """The class of places that a file is in."""
    return next((place for place, top in PLACES if path.startswith(top)), "files")


def main():
    """Search once."""
    asked = json.load(sys.stdin)
    secrets = {name: [base64.b64decode(form) for form in forms] for name, forms in asked["secrets"].items()}
    allowed = [re.compile(pattern) for pattern in asked["allowed"]]
    found = []
    paths = changed_files(asked["since"])
    for raw in files_with([form for forms in secrets.values() for form in forms], paths):
        path = raw.decode(errors="replace")
        if not any(pattern.fullmatch(path) for pattern in allowed):
            found.append([place_of(path), path, names_in(Path(path).read_bytes(), secrets)])
    for path, data in packed(paths):
        names = names_in(data, secrets)
        found += [[place_of(path), path, names]] if names else []
    for place, what, data in texts(asked["since"]):
        names = names_in(data, secrets)
        found += [[place, what, names]] if names else []
    json.dump({"found": found, "files": len(paths)}, sys.stdout)


main()
