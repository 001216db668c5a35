# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Shared memory, memory limits, and whether the model fits.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...findings import WARNING
from ...versions import Version
from ..case import Case
from ..rules.saying import Said, case_rule
from .shown import container, given, number, value
from .weights import weight_bytes

_RUN = "https://docs.docker.com/reference/cli/docker/container/run/"
_GIB = 1024**3


@case_rule("no_ipc_host_or_shm_size", WARNING, f"{_RUN} (--shm-size); NCCL: shared memory", until=Version(0, 27))
def _shm(case: Case) -> Iterator[Said]:
    shown = container(case)
    if shown is None or shown.shm_bytes is not None or (shown.ipc or "private") == "host":
        return
    size = number(case, "--tensor-parallel-size", 1) * number(case, "--pipeline-parallel-size", 1)
    if size > 1 and not any(mount.split(":")[1:2] == ["/dev/shm"] for mount in shown.mounts):
        yield Said(
            "shm_size",
            f"/dev/shm stays at 64 MiB and {size} processes exchange tensors through it: NCCL fails or hangs",
            "add --shm-size 16g (compose: shm_size: 16g)",
            expected="--shm-size or --ipc host",
        )


@case_rule("shm_size_ignored_with_ipc_host", WARNING, f"{_RUN} (--ipc, --shm-size)")
def _both(case: Case) -> Iterator[Said]:
    shown = case.subject.container
    if shown is not None and shown.ipc == "host" and shown.shm_bytes is not None:
        yield Said(
            "shm_size",
            "with ipc host the container uses the host's /dev/shm, so shm_size has no effect",
            "keep shm_size and leave ipc host out",
        )


@case_rule("memory_limit_may_kill_load", WARNING, "https://docs.docker.com/engine/containers/resource_constraints/")
def _limit(case: Case) -> Iterator[Said]:
    shown, weights = case.subject.container, _weights(case)
    if shown is None or shown.memory_bytes is None or weights is None or shown.memory_bytes <= 0:
        return
    if shown.memory_bytes < weights * 1.1:
        yield Said(
            "memory",
            f"{shown.memory_bytes / _GIB:.0f} GiB are near or below the weights (about {weights / _GIB:.0f} GiB): "
            "the kernel may kill the load",
            "leave the limit out, or set it well above the weights",
            observed=shown.memory_bytes,
        )


@case_rule("model_does_not_fit_memory", WARNING, "parameters in the model's name; memory of the stated GPUs")
def _fit(case: Case) -> Iterator[Said]:
    host, weights = case.subject.host, _weights(case)
    if host is None or weights is None or not host.gpu_memory_bytes or given(case, "--cpu-offload-gb"):
        return
    count = number(case, "--tensor-parallel-size", 1) * number(case, "--pipeline-parallel-size", 1)
    memory = host.gpu_memory_bytes * count
    if weights > memory:
        yield Said(
            case.line.model or "" if case.line else "",
            f"weights of about {weights / _GIB:.0f} GiB, {count} GPU(s) of {memory / _GIB:.0f} GiB: out of memory",
            "use more GPUs (--tensor-parallel-size), a quantised model or a smaller one",
            observed=weights,
        )


def _weights(case: Case) -> int | None:
    model = case.line.model if case.line else None
    return weight_bytes(model, value(case, "--quantization")) if model else None


RULES = (_shm, _both, _limit, _fit)
