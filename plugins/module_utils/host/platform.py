# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge the system below Docker: distribution, systemd, cgroups, memory.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..findings import ERROR, WARNING, Finding
from .facts import Host, OperatingSystem
from .room import gib
from .wanted import Wanted

SUPPORTED = {"debian": ("12", "13"), "ubuntu": ("22.04", "24.04")}
# Written from their documentation; nobody has run the collection on them.
UNTRIED = {"rhel": "9", "rocky": "9", "almalinux": "9", "centos": "9", "ol": "9"}
MIN_SYSTEMD = 247
_CGROUP = 2
_SUPPORTED_TEXT = "Debian 12 or 13, Ubuntu 22.04 or 24.04"


def judge_platform(host: Host, services: Iterable[Wanted], min_memory_bytes: int) -> Iterator[Finding]:
    """Say what of the system is not as the services need it."""
    yield from _judge_os(host.os)
    yield from _judge_systemd(host.systemd)
    if host.cgroup < _CGROUP:
        yield Finding(
            "cgroup_version",
            WARNING,
            "host cgroups",
            "this host runs cgroup version 1, which newer systemd and Docker no longer support",
            expected=_CGROUP,
            observed=host.cgroup,
            remedy="boot with systemd.unified_cgroup_hierarchy=1, or upgrade the distribution",
        )
    yield from _judge_memory(host, sum(each.shm_bytes for each in services), min_memory_bytes)


def _judge_os(system: OperatingSystem) -> Iterator[Finding]:
    if system.dgx:
        yield _untried(system, "DGX OS")
    elif system.version in SUPPORTED.get(system.id, ()):
        return
    elif UNTRIED.get(system.id) == system.version.split(".", 1)[0]:
        yield _untried(system, "the RHEL 9 family")
    else:
        yield Finding(
            "os_unsupported",
            ERROR,
            "host operating system",
            f"{system.pretty} is not supported",
            expected=_SUPPORTED_TEXT,
            observed=f"{system.id} {system.version}",
            remedy=f"use a host with {_SUPPORTED_TEXT}, or take this host out of the group",
        )


def _untried(system: OperatingSystem, family: str) -> Finding:
    return Finding(
        "os_untried",
        WARNING,
        "host operating system",
        f"{system.pretty}: the collection is written for {family} too, and was never tried on it",
        expected=_SUPPORTED_TEXT,
        observed=f"{system.id} {system.version}",
        remedy="try with --check first, and on one host",
    )


def _judge_systemd(version: str | None) -> Iterator[Finding]:
    if version is None or not version.isdigit() or int(version) < MIN_SYSTEMD:
        yield Finding(
            "systemd_missing" if version is None else "systemd_old",
            ERROR,
            "host systemd",
            "systemd does not run this host" if version is None else f"systemd {version} is too old",
            expected=f"systemd {MIN_SYSTEMD} or newer as the first process",
            observed=version,
            remedy="use a host that systemd boots",
        )


def _judge_memory(host: Host, shm_bytes: int, minimum: int) -> Iterator[Finding]:
    if host.memory_total_bytes < minimum:
        yield Finding(
            "memory_small",
            ERROR,
            "host memory",
            f"the host has {gib(host.memory_total_bytes)} of memory",
            expected=f"at least {gib(minimum)}",
            observed=host.memory_total_bytes,
            remedy="use a larger host, or lower host_check_min_memory_gib when you know better",
        )
    elif host.memory_available_bytes < shm_bytes:
        yield Finding(
            "memory_shm",
            WARNING,
            "host memory",
            f"the services may fill {gib(shm_bytes)} of /dev/shm, and {gib(host.memory_available_bytes)} is free",
            expected=shm_bytes,
            observed=host.memory_available_bytes,
            remedy="lower shm_size of the services, or free memory on the host",
        )
