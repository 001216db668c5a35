# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A /dev/shm in which the queues between the processes of one engine do not fit.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import ERROR, Finding
from ..versions import Version
from .case import Case, Rule
from .subject import COMPOSE, DOCKER_RUN, OURS, Container

ID = "SHM_TOO_SMALL"
SOURCE = "vllm/distributed/device_communicators/shm_broadcast.py, check_shm_free_space, 0.26.0 and 0.27.0"
SINCE = Version(0, 27, 0)
_MIB = 1 << 20
_DOCKER_DEFAULT = 64 * _MIB
# One broadcast queue of 10 x 16 MiB, and one response queue of 10 x 24 MiB for each worker.
_BROADCAST, _RESPONSE = 160 * _MIB, 240 * _MIB


def check(case: Case) -> Iterator[Finding]:
    """More than one worker on the node, and less room than their queues take."""
    container = case.subject.container
    workers = _workers(case)
    if container is None or case.version < SINCE or workers <= 1 or _is_elsewhere(container):
        return
    size = container.shm_bytes
    if size is None:
        if container.runner not in {DOCKER_RUN, COMPOSE} and container.tensor_parallel_size is None:
            return
        size = _DOCKER_DEFAULT
    # A queue that does not fit stops the start for sure; that all of them are there at once is the likely case.
    if size < _BROADCAST + _RESPONSE:
        yield _finding(case, workers, size)


def _finding(case: Case, workers: int, size: int) -> Finding:
    container = case.subject.container
    ours = container is not None and container.runner == OURS
    return Finding(
        id=ID,
        severity=ERROR,
        subject=case.about("/dev/shm"),
        message=(
            f"/dev/shm has {size // _MIB} MiB, and the queues between {workers} workers take a segment of 160 MiB and "
            f"segments of 240 MiB there: the start ends with 'Insufficient space in /dev/shm' since vLLM {SINCE}"
        ),
        expected="at least 1 GiB, or the host's /dev/shm",
        observed=f"{size // _MIB} MiB",
        remedy="set shm_size: 1g or more"
        if ours
        else "run the container with --ipc=host, or with --shm-size 1g or more",
        source=SOURCE,
        since=str(SINCE),
        replacement="--ipc=host or --shm-size >= 1g",
    )


def _is_elsewhere(container: Container) -> bool:
    ipc = container.ipc or ""
    return (
        ipc == "host"
        or ipc.startswith(("container:", "service:"))
        or any("/dev/shm" in mount for mount in container.mounts)
    )


def _workers(case: Case) -> int:
    """How many worker processes of one engine share this node."""
    container, line = case.subject.container, case.line
    if container is not None and container.tensor_parallel_size:
        return container.tensor_parallel_size
    if line is None:
        return 1
    wide = (line.integer("--tensor-parallel-size") or 1) * (line.integer("--pipeline-parallel-size") or 1)
    return wide // max(1, line.integer("--nnodes") or 1)


RULES = (Rule(ID, ERROR, SOURCE, check),)
