# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who listens on which TCP port, from /proc. No decisions.

Private to the collection.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ..host.facts import Listener
from ..host.parse import container_of, parse_listening
from .system import read_text


def listeners(proc: str = "/proc") -> tuple[Listener, ...]:
    """All TCP listeners with the process that holds each; a process that may not be looked at is left out."""
    open_ones = [pair for name in ("tcp", "tcp6") for pair in parse_listening(read_text(f"{proc}/net/{name}"))]
    holders = _holders(Path(proc), {inode for inode, _listener in open_ones})
    found = (_held(listener, holders.get(inode), proc) for inode, listener in open_ones)
    return tuple(sorted(found, key=lambda each: (each.port, each.address)))


def open_ports(proc: str = "/proc") -> tuple[Listener, ...]:
    """All TCP listeners without their processes: quick, where nothing has to be named."""
    return tuple(pair[1] for name in ("tcp", "tcp6") for pair in parse_listening(read_text(f"{proc}/net/{name}")))


def _held(listener: Listener, pid: int | None, proc: str) -> Listener:
    if pid is None:
        return listener
    return dataclasses.replace(
        listener,
        pid=pid,
        process=read_text(f"{proc}/{pid}/comm").strip() or None,
        container=container_of(read_text(f"{proc}/{pid}/cgroup")),
    )


def _holders(proc: Path, wanted: set[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for folder in proc.iterdir():
        if folder.name.isdigit():
            for inode in _sockets(folder / "fd") & wanted:
                # The lowest pid is the one that opened it; workers inherit it later.
                found[inode] = min(int(folder.name), found.get(inode, int(folder.name)))
    return found


def _sockets(folder: Path) -> set[str]:
    try:
        names = [_target(each) for each in folder.iterdir()]
    except OSError:
        # The process ended, or is not ours to look at.
        return set()
    return {name[len("socket:[") : -1] for name in names if name.startswith("socket:[")}


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        # Closed between two looks, as the one is by which this folder is read.
        return ""
