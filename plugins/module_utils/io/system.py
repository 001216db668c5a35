# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Look at the system: its name, memory, disks, and what is installed. No decisions.

Private to the collection.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

from ..gpu.query import QUERY, parse_gpus
from ..host.facts import Disk, GpuHost, OperatingSystem, Package
from ..host.parse import parse_cdi, parse_meminfo, parse_os_release, parse_packages, parse_systemd_version, platform_of
from .commands import Runner, run

_NVIDIA_VENDOR = "0x10de"
# Where container engines look for device specifications; the second wins over the first.
CDI_FOLDERS = ("/etc/cdi", "/var/run/cdi")
# Packages whose versions decide if containers run, and get their GPUs.
_PACKAGES = (
    "containerd",
    "containerd.io",
    "docker-ce",
    "docker-ce-cli",
    "docker-cli",
    "docker.io",
    "libnvidia-container-tools",
    "libnvidia-container1",
    "nvidia-container-toolkit",
    "nvidia-container-toolkit-base",
    "runc",
)
_TOOLKIT = ("nvidia-container-runtime-hook", "nvidia-container-toolkit", "nvidia-container-runtime")


def read_text(path: str | Path) -> str:
    """The text of a file; empty when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def operating_system() -> OperatingSystem:
    """What this distribution calls itself."""
    return parse_os_release(read_text("/etc/os-release"), dgx=Path("/etc/dgx-release").exists())


def machine() -> str:
    """The platform of this machine, as images name it."""
    return platform_of(platform.system(), platform.machine())


def memory() -> tuple[int, int]:
    """Total and available bytes."""
    return parse_meminfo(read_text("/proc/meminfo"))


def cgroup_version() -> int:
    """2 where the unified hierarchy is mounted."""
    return 2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1


def systemd_version(*, runner: Runner = run) -> str | None:
    """The version of the systemd that runs this system; None when something else does."""
    if not Path("/run/systemd/system").is_dir():
        return None
    return parse_systemd_version(runner(["systemctl", "--version"], timeout=10).out)


def disk_of(path: str) -> Disk:
    """The file system on which ``path`` is, or on which it will be made."""
    place = Path(path)
    while not place.exists() and place != place.parent:
        place = place.parent
    room = os.statvfs(place)
    return Disk(path, place.stat().st_dev, room.f_frsize * room.f_blocks, room.f_frsize * room.f_bavail)


def tree_bytes(folder: str | Path, pattern: str = "*") -> int:
    """Bytes of the files in a folder (not below it); files that vanish meanwhile count nothing."""
    total = 0
    for each in Path(folder).glob(pattern):
        try:
            total += each.lstat().st_size if each.is_file() else 0
        except OSError:
            continue
    return total


def engine_packages(*, runner: Runner = run) -> tuple[Package, ...]:
    """The packages of Docker and of the GPU toolkit that are installed; none where there is no dpkg."""
    row = "--showformat=${Package} ${Version} ${db:Status-Want} ${db:Status-Status}\\n"
    return parse_packages(runner(["dpkg-query", "--show", row, *_PACKAGES], timeout=30).out)


def gpu_host(*, runner: Runner = run) -> GpuHost:
    """What the host offers of GPUs."""
    present = shutil.which("nvidia-smi") is not None
    asked = runner(list(QUERY), timeout=60) if present else None
    gpus = parse_gpus(asked.out) if asked and asked.ok else ()
    said = " ".join((asked.out + " " + asked.err).split()) if asked else ""
    return GpuHost(
        nvidia_smi=present,
        nvidia_pci=_nvidia_pci(),
        error=None if gpus or not present else said or "nothing",
        gpus=gpus,
        cdi_devices=_cdi_devices(),
        toolkit=any(shutil.which(name) for name in _TOOLKIT),
    )


def _nvidia_pci() -> bool:
    return any(read_text(vendor).strip() == _NVIDIA_VENDOR for vendor in Path("/sys/bus/pci/devices").glob("*/vendor"))


def _cdi_devices() -> tuple[str, ...]:
    found: list[str] = []
    for folder in CDI_FOLDERS:
        for each in sorted(Path(folder).glob("*")):
            if each.suffix in (".json", ".yaml", ".yml"):
                found.extend(parse_cdi(read_text(each)))
    return tuple(dict.fromkeys(found))
