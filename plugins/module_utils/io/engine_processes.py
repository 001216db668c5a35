# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the processes of a container are, may do and have, from /proc: nothing is run inside of it. No decisions.

Private to the collection.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..diagnose.case import Process, Shm
from ..host.facts import Listener
from ..host.parse import parse_listening
from . import container_processes
from .peek import inside
from .system import read_text

_MOST = 512
_MEMLOCK = re.compile(r"^Max locked memory\s+(\S+)", re.M)
_RESIDENT = re.compile(r"^VmRSS:\s+(\d+) kB", re.M)
_PACKAGES = re.compile(r"/\S*?/(?:site|dist)-packages(?=/)")
_DIST_INFO = re.compile(r"(?P<name>[A-Za-z0-9._]+)-(?P<version>[A-Za-z0-9._+!]+)\.dist-info")
# Where images keep Python's packages, below their own root.
_LIBRARIES = ("/usr/local/lib", "/usr/lib", "/opt/venv/lib", "/opt/vllm/lib", "/opt/conda/lib", "/app/.venv/lib")
_FOLDERS = ("site-packages", "dist-packages")
_MOST_NAMES = 20000


def look(container_id: str, proc: str = "/proc") -> tuple[Process, ...]:
    """Every living process of a container."""
    found = sorted(container_processes.of_container(container_id, proc).items())[:_MOST]
    return tuple(_process(pid, parent, proc) for pid, parent in found)


def environment(pid: int, proc: str = "/proc") -> dict[str, str]:
    """The variables of a process, secrets among them: only for taking them out of text; PermissionError for others."""
    raw = Path(f"{proc}/{pid}/environ").read_bytes().decode("utf-8", "surrogateescape")
    return {name: value for name, _sign, value in (entry.partition("=") for entry in raw.split("\0")) if name}


def shared_memory(pid: int, proc: str = "/proc") -> Shm:
    """The shared memory of the container that a process is in."""
    room = os.statvfs(inside(f"{proc}/{pid}/root", "/dev/shm"))
    return Shm(room.f_frsize * room.f_blocks, room.f_frsize * (room.f_blocks - room.f_bfree))


def interfaces(pid: int, proc: str = "/proc") -> list[str]:
    """The network interfaces of the container that a process is in."""
    lines = Path(f"{proc}/{pid}/net/dev").read_text(encoding="utf-8").splitlines()
    return [line.partition(":")[0].strip() for line in lines if ":" in line]


def listeners(pid: int, proc: str = "/proc") -> tuple[Listener, ...]:
    """Who listens inside of the container that a process is in."""
    texts = [read_text(f"{proc}/{pid}/net/{name}") for name in ("tcp", "tcp6")]
    found = {listener for text in texts for _inode, listener in parse_listening(text)}
    return tuple(sorted(found, key=lambda each: (each.port, each.address)))


def packages_of(pid: int, proc: str = "/proc") -> dict[str, list[str]]:
    """The Python packages that a process can load, by the names of their folders."""
    mapped = set(_PACKAGES.findall(read_text(f"{proc}/{pid}/maps")))
    return packages_below(f"{proc}/{pid}/root", sorted(mapped))


def packages_below(root: str, more: list[str] | None = None) -> dict[str, list[str]]:
    """The Python packages below a root, a version once."""
    found: dict[str, list[str]] = {}
    for folder in dict.fromkeys([*_package_folders(root), *(more or [])]):
        for name, version in _dist_infos(root, folder):
            versions = found.setdefault(name, [])
            if version not in versions:
                versions.append(version)
    return found


def layers_of(image: Mapping[str, object]) -> list[str]:
    """The folders of an image's layers, the uppermost first; none where its store does not say."""
    driver = image.get("GraphDriver")
    data = driver.get("Data") if isinstance(driver, Mapping) else None
    data = data if isinstance(data, Mapping) else {}
    layers = [str(data.get("UpperDir") or ""), *str(data.get("LowerDir") or "").split(":")]
    return [layer for layer in layers if layer.startswith("/")]


def _process(pid: int, parent: int, proc: str) -> Process:
    words = read_text(f"{proc}/{pid}/cmdline").rstrip("\0").split("\0")
    memlock = _MEMLOCK.search(read_text(f"{proc}/{pid}/limits"))
    resident = _RESIDENT.search(read_text(f"{proc}/{pid}/status"))
    return Process(
        pid=pid,
        parent=parent,
        name=read_text(f"{proc}/{pid}/comm").strip(),
        words=tuple(word for word in words if word),
        memlock=memlock.group(1) if memlock else "",
        resident_kib=int(resident.group(1)) if resident else 0,
    )


def _package_folders(root: str) -> Iterator[str]:
    for library in _LIBRARIES:
        for name in _names(inside(root, library)):
            if name.startswith("python3"):
                yield from (f"{library}/{name}/{folder}" for folder in _FOLDERS)


def _dist_infos(root: str, folder: str) -> Iterator[tuple[str, str]]:
    for name in _names(inside(root, folder)):
        match = _DIST_INFO.fullmatch(name)
        if match:
            yield match["name"].lower().replace("_", "-"), match["version"]


def _names(folder: Path) -> list[str]:
    """The names in a folder, not without limit; none when it is none."""
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                found.append(entry.name)
                if len(found) >= _MOST_NAMES:
                    break
    except OSError:
        return []
    return sorted(found)
