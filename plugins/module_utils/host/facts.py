# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a host is, as values.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ..gpu.query import Gpu


@dataclass(frozen=True)
class OperatingSystem:
    """What /etc/os-release says, and if the maker's DGX file is there."""

    id: str
    version: str
    pretty: str
    dgx: bool = False
    codename: str | None = None


@dataclass(frozen=True)
class Disk:
    """Room where a path is, or will be: ``device`` tells file systems apart."""

    path: str
    device: int
    total_bytes: int
    free_bytes: int


@dataclass(frozen=True)
class Listener:
    """Who holds a TCP port; container is the id of the container that the process is in."""

    address: str
    port: int
    pid: int | None = None
    process: str | None = None
    container: str | None = None


@dataclass(frozen=True)
class Published:
    """A port that Docker publishes for a container; ``service`` is the vLLM service that the container is of."""

    address: str
    port: int
    container: str
    service: str | None


@dataclass(frozen=True)
class Engine:
    """Docker on this host. ``containers``: the id of every running container and the vLLM service that it is of."""

    installed: bool
    reachable: bool
    error: str | None = None
    version: str | None = None
    root: str = "/var/lib/docker"
    cgroup_driver: str | None = None
    mirrors: tuple[str, ...] = ()
    insecure: tuple[str, ...] = ()
    runtimes: tuple[str, ...] = ()
    cdi_enabled: bool = False
    containers: dict[str, str | None] = field(default_factory=dict)
    published: tuple[Published, ...] = ()


@dataclass(frozen=True)
class GpuHost:
    """What the host offers of GPUs, and by which ways containers can get them."""

    nvidia_smi: bool
    nvidia_pci: bool
    error: str | None = None
    gpus: tuple[Gpu, ...] = ()
    cdi_devices: tuple[str, ...] = ()
    toolkit: bool = False


@dataclass(frozen=True)
class Package:
    """An installed package; held ones are not upgraded unattended."""

    name: str
    version: str
    held: bool


@dataclass(frozen=True)
class Host:
    """All of it."""

    os: OperatingSystem
    kernel: str
    platform: str
    python: str
    systemd: str | None
    cgroup: int
    memory_total_bytes: int
    memory_available_bytes: int
    disks: dict[str, Disk]
    engine: Engine
    gpu: GpuHost
    listeners: tuple[Listener, ...] = ()
    packages: tuple[Package, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return asdict(self)
