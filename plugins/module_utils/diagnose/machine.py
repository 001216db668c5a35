# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Step 5: ranks and what they meet through: addresses, shared memory, locked memory, Ray, NCCL, GPUs, room.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..findings import ERROR, INFO, WARNING, Finding
from ..gpu.query import remedy_for
from .case import CORE, RAY, SERVER, WORKER, Case
from .model import SOURCE, Section, facts, unread_of
from .words import whole

SOURCES = (
    "shm",
    "limits",
    "addresses",
    "interfaces",
    "inner listeners",
    "gpus",
    "nvidia-smi",
    "kernel log",
    "memory",
    "disks",
)
_MIB, _GIB = 1 << 20, 1 << 30
# What Docker gives where nobody asks; NCCL and the queues between ranks want more.
_SHM_OF_RANKS = _GIB
_NEARLY_FULL = 0.95
_LEAST_ROOM = _GIB
_LEAST_MEMORY = 0.03
_UNLIMITED = "unlimited"
_INTERFACE_VARIABLES = ("NCCL_SOCKET_IFNAME",)
# Switches that make ranks meet in a slower way: for finding a fault, not for serving.
_SLOWER = ("NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE")


def section(case: Case) -> Section:
    """The section."""
    limits = {f"{process.role} {process.pid}": process.memlock for process in _ranks(case) if process.memlock}
    shm, host_config = case.shm, case.container.get("HostConfig") or {}
    networks = (case.container.get("NetworkSettings") or {}).get("Networks") or {}
    rows = facts(
        ("ranks", [f"{process.role} {process.pid}" for process in _ranks(case)], "/proc of the container"),
        ("addresses of the host", list(case.addresses), "ip address"),
        ("addresses of the container", {name: (each or {}).get("IPAddress") for name, each in networks.items()},
         "docker inspect"),
        ("interfaces of the container", list(case.interfaces), "/proc/PID/net/dev"),
        ("listens inside", [f"{each.address}:{each.port}" for each in case.inner_listeners], "/proc/PID/net/tcp"),
        ("shared memory, MiB", [shm.total // _MIB, shm.used // _MIB] if shm else None, "/dev/shm: total, used"),
        ("ipc", host_config.get("IpcMode"), "docker inspect"),
        ("locked memory", limits, "/proc/PID/limits"),
        ("executor", case.options.get("distributed-executor-backend"), "release.json"),
        ("Ray", list(case.packages.get("ray") or ()), "dist-info folders of the image"),
        ("GPUs", [_gpu(gpu) for gpu in case.gpus.gpus] if case.gpus else None, "nvidia-smi"),
        ("free room, GiB", {name: round(free / _GIB, 1) for name, (_total, free) in case.disks.items()}, "statvfs"),
        ("lines of the kernel", list(case.kernel_lines)[-10:], "journalctl -k"),
    )  # fmt: skip
    found = [*_shm(case), *_memlock(case), *_addresses(case), *_ray(case), *_nccl(case), *_gpus(case), *_room(case)]
    title = "5. Ranks, addresses, shared memory, locked memory, Ray and NCCL"
    return Section("machine", title, rows, tuple([*found, *_kernel(case)]), unread_of(case.unread, SOURCES))


def _ranks(case: Case) -> list[Any]:
    return [process for process in case.processes if process.role in (SERVER, CORE, WORKER, RAY)]


def _gpu(gpu: Any) -> str:
    size = f", {gpu.memory_total_mib:,} MiB" if gpu.memory_total_mib else ""
    return f"{gpu.index}: {gpu.name}{size}"


def _many(case: Case) -> bool:
    return case.ranks > 1 or whole(case.options, "data-parallel-size", 1) > 1


def _shm(case: Case) -> Iterator[Finding]:
    shm = case.shm
    if shm is None or not shm.total:
        return
    if shm.used >= _NEARLY_FULL * shm.total:
        yield Finding(
            "shm_full",
            ERROR,
            f"{case.service} /dev/shm",
            f"{shm.used // _MIB:,} of {shm.total // _MIB:,} MiB of shared memory are used",
            observed=shm.used,
            remedy="raise shm_size of the service",
            source="docs/runbooks/diagnoses/shm_too_small.md",
        )
    elif _many(case) and shm.total < _SHM_OF_RANKS:
        yield Finding(
            "shm_small",
            WARNING,
            f"{case.service} shm_size",
            f"its ranks share {shm.total // _MIB:,} MiB of memory; NCCL and the queues between ranks can need more",
            expected=f"{_SHM_OF_RANKS // _MIB:,} MiB or more",
            observed=f"{shm.total // _MIB:,} MiB",
            remedy="set shm_size: 16g",
            source="docs/runbooks/diagnoses/shm_too_small.md",
        )


def _memlock(case: Case) -> Iterator[Finding]:
    limited = [process for process in _ranks(case) if process.memlock not in ("", _UNLIMITED)]
    if limited and _many(case) and case.content.get("gpus") != "none":
        yield Finding(
            "memlock_limited",
            WARNING,
            case.service,
            f"{len(limited)} of its processes may lock {limited[0].memlock} bytes of memory only; RDMA and pinned "
            "buffers of NCCL need more",
            expected=_UNLIMITED,
            observed=limited[0].memlock,
            remedy="set ulimits: {memlock: '-1'}",
            source=SOURCE,
        )


def _addresses(case: Case) -> Iterator[Finding]:
    for name in _INTERFACE_VARIABLES:
        wanted = [word.lstrip("=^") for word in case.variable(name).split(",") if word.strip("=^")]
        missing = [word for word in wanted if not any(each.startswith(word) for each in case.interfaces)]
        if case.interfaces and missing and not case.variable(name).startswith("^"):
            yield Finding(
                "interface_missing",
                ERROR,
                f"{case.service} env.{name}",
                f"names {', '.join(missing)}, which its container does not have",
                expected=list(case.interfaces),
                observed=case.variable(name),
                remedy="name an interface of the container, or set network: host",
                source="docs/runbooks/diagnoses/nccl_error.md",
            )
    address = case.variable("VLLM_HOST_IP")
    inner = _inner_addresses(case)
    if address and inner and address not in inner:
        yield Finding(
            "address_missing",
            ERROR,
            f"{case.service} env.VLLM_HOST_IP",
            "is no address of its container, so its ranks cannot meet there",
            expected=inner,
            observed=address,
            remedy="take it out, or set network: host",
            source=SOURCE,
        )


def _inner_addresses(case: Case) -> list[str]:
    if case.content.get("network") == "host":
        return list(case.addresses)
    networks = (case.container.get("NetworkSettings") or {}).get("Networks") or {}
    return [str(each["IPAddress"]) for each in networks.values() if each and each.get("IPAddress")]


def _ray(case: Case) -> Iterator[Finding]:
    if case.options.get("distributed-executor-backend") == "ray" and case.packages and not case.packages.get("ray"):
        yield Finding(
            "ray_missing",
            ERROR,
            f"{case.service} config.distributed-executor-backend",
            "asks for Ray, which is not in the image (the official ones have none since 0.18)",
            expected="an image with ray",
            observed="no ray",
            remedy="use mp on one host, or an image with Ray",
            source=SOURCE,
        )


def _nccl(case: Case) -> Iterator[Finding]:
    slower = [name for name in _SLOWER if case.is_on(name)]
    if slower:
        yield Finding(
            "nccl_slower",
            WARNING,
            case.service,
            f"{', '.join(slower)} makes its ranks meet in a slower way",
            remedy="take it out once the fault is found",
            source="docs/runbooks/diagnoses/nccl_error.md",
        )
    if case.said.get("diagnosis") == "nccl_error" and not case.variable("NCCL_DEBUG"):
        yield Finding(
            "nccl_silent",
            INFO,
            case.service,
            "NCCL failed and was not asked to say why",
            remedy="set env: {NCCL_DEBUG: INFO}, start again, and read its lines before the error",
            source="docs/runbooks/diagnoses/nccl_error.md",
        )


def _gpus(case: Case) -> Iterator[Finding]:
    gpus = case.gpus
    if gpus is None or case.content.get("gpus") in (None, "none"):
        return
    if not gpus.gpus:
        said = gpus.error or ("nvidia-smi is not installed" if not gpus.nvidia_smi else "it lists none")
        yield Finding(
            "gpus_unanswered",
            ERROR,
            f"{case.service} gpus",
            f"the service wants GPUs and the host shows none: {said}",
            observed=said,
            remedy=remedy_for(said),
            source=SOURCE,
        )


def _room(case: Case) -> Iterator[Finding]:
    for name, (total, free) in sorted(case.disks.items()):
        if total and free < _LEAST_ROOM:
            yield Finding(
                "disk_nearly_full",
                WARNING,
                f"{case.host} {name}",
                f"has {free // _MIB:,} MiB free",
                expected=f"{_LEAST_ROOM // _MIB:,} MiB or more",
                observed=free,
                remedy="free room: docker image prune, older models in /var/cache/gpuhosts-vllm/hf",
                source="docs/runbooks/diagnoses/disk_full_or_quota.md",
            )
    if case.memory and case.memory[0] and case.memory[1] < _LEAST_MEMORY * case.memory[0]:
        yield Finding(
            "memory_nearly_full",
            WARNING,
            case.host,
            f"{case.memory[1] // _MIB:,} of {case.memory[0] // _MIB:,} MiB of memory are free",
            remedy="see who has it: ps -eo pid,rss,comm --sort=-rss | head",
            source=SOURCE,
        )


def _kernel(case: Case) -> Iterator[Finding]:
    xid = [line for line in case.kernel_lines if "Xid" in line or "NVRM" in line]
    if xid:
        yield Finding(
            "gpu_fault_in_kernel_log",
            WARNING,
            case.host,
            "the kernel tells of a fault of a GPU",
            observed=xid[-3:],
            remedy="look its Xid up; on the host: journalctl -k | grep Xid",
            source=SOURCE,
        )
    own = [line for line in case.kernel_lines if case.container_id and case.container_id in line and "oom" in line]
    if own:
        yield Finding(
            "killed_for_memory",
            ERROR,
            case.service,
            "the kernel killed a process of its container for memory",
            observed=own[-1],
            remedy="less for the service, or more memory for the host",
            source="docs/runbooks/endings.md",
        )
