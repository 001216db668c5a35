# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The machine around a service: GPUs, addresses, listeners, memory, disks, and what the kernel said.

Private to the collection.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...diagnose.budget import LARGE, MIDDLE, SMALL
from ...diagnose.contents import TEXT
from ...host.facts import Engine
from ...release.paths import CACHE_ROOT, STATE_ROOT
from .. import ports, system
from .reader import Reader, checked

_KERNEL = re.compile(r"Xid|NVRM|nvidia|oom|Out of memory|Killed process|I/O error", re.IGNORECASE)
_KERNEL_LINES, _KERNEL_KEPT, _KERNEL_TOLD = 4000, 400, 40


def read_machine(reader: Reader, content: Mapping[str, Any], engine: Engine | None) -> dict[str, Any]:
    """The machine, by the names of the case's fields."""
    kernel = reader.source("kernel log", lambda: _kernel(reader)) or []
    text = "".join(line + "\n" for line in kernel)
    reader.keep("host/kernel.txt", TEXT, text, MIDDLE, "journalctl --dmesg, lines of GPUs, memory and disks")
    addresses = reader.said("addresses", ["ip", "-brief", "address"], "host/addresses.txt", SMALL)
    root = engine.root if engine else "/var/lib/docker"
    folders = {"docker": root, "state": f"/{STATE_ROOT}", "cache": f"/{CACHE_ROOT}"}
    return {
        **_gpus(reader, content),
        "addresses": addresses_of(addresses),
        "listeners": reader.source("listeners", ports.listeners) or (),
        "memory": reader.source("memory", system.memory),
        "disks": {name: room for name, path in folders.items() if (room := _room(reader, path))},
        "kernel_lines": kernel[-_KERNEL_TOLD:],
        "facts": {"host": f"{system.operating_system().pretty}, kernel {platform.release()}"},
    }


def addresses_of(text: str) -> list[str]:
    """The addresses of ``ip -brief address``: a name, a state, then addresses with their prefix."""
    return [word.partition("/")[0] for line in text.splitlines() for word in line.split()[2:] if "/" in word]


def _gpus(reader: Reader, content: Mapping[str, Any]) -> dict[str, Any]:
    """What the host offers, the state of the GPUs as the tool tells people, and the processes that are on them."""
    gpus = reader.source("gpus", lambda: system.gpu_host(runner=reader.run))
    if gpus is None or not gpus.nvidia_smi:
        if content.get("gpus") not in (None, "none"):
            reader.unread["nvidia-smi"] = "it is not installed on the host"
        return {"gpus": gpus}
    reader.said("nvidia-smi", ["nvidia-smi"], "gpu/nvidia-smi.txt", MIDDLE)
    reader.said("nvidia-smi -q", ["nvidia-smi", "-q"], "gpu/nvidia-smi-q.txt", LARGE)
    query = ["nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader"]
    users = reader.said("gpu processes", query, "gpu/processes.csv", SMALL)
    return {"gpus": gpus, "gpu_processes": [line.strip() for line in users.splitlines() if line.strip()]}


def _kernel(reader: Reader) -> list[str]:
    argv = ["journalctl", "--dmesg", "--quiet", "--no-pager", "--output=short-iso", f"--lines={_KERNEL_LINES}"]
    return [line for line in checked(reader.run(argv)).splitlines() if _KERNEL.search(line)][-_KERNEL_KEPT:]


def _room(reader: Reader, path: str) -> tuple[int, int] | None:
    disk = reader.source("disks", partial(system.disk_of, path))
    return (disk.total_bytes, disk.free_bytes) if disk else None
