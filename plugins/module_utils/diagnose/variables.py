# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which environment variables may be shown with their value: a reviewed list of switches, of all others only the name.

A variable gets into the list when its value is a number, a word of a closed set, or the name of a network interface.
Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

HIDDEN = "[not-shown]"
SHOWN = frozenset(
    {
        "NCCL_ALGO",
        "NCCL_BUFFSIZE",
        "NCCL_CUMEM_ENABLE",
        "NCCL_CUMEM_HOST_ENABLE",
        "NCCL_DEBUG",
        "NCCL_DEBUG_SUBSYS",
        "NCCL_GRAPH_MIXING_SUPPORT",
        "NCCL_IB_DISABLE",
        "NCCL_IB_GID_INDEX",
        "NCCL_IB_HCA",
        "NCCL_IB_TIMEOUT",
        "NCCL_MAX_NCHANNELS",
        "NCCL_MIN_NCHANNELS",
        "NCCL_NET",
        "NCCL_NET_GDR_LEVEL",
        "NCCL_NVLS_ENABLE",
        "NCCL_P2P_DISABLE",
        "NCCL_P2P_LEVEL",
        "NCCL_PROTO",
        "NCCL_SHM_DISABLE",
        "NCCL_SOCKET_IFNAME",
        "NCCL_TIMEOUT",
        "VLLM_ALL2ALL_BACKEND",
        "VLLM_ALLOW_INSECURE_SERIALIZATION",
        "VLLM_ALLOW_LONG_MAX_MODEL_LEN",
        "VLLM_ALLREDUCE_USE_FLASHINFER",
        "VLLM_ALLREDUCE_USE_SYMM_MEM",
        "VLLM_ATTENTION_BACKEND",
        "VLLM_BATCH_INVARIANT",
        "VLLM_CPU_KVCACHE_SPACE",
        "VLLM_CPU_OMP_THREADS_BIND",
        "VLLM_ENABLE_V1_MULTIPROCESSING",
        "VLLM_ENFORCE_STRICT_TOOL_CALLING",
        "VLLM_ENGINE_READY_TIMEOUT_S",
        "VLLM_FLASHINFER_MOE_BACKEND",
        "VLLM_HOST_IP",
        "VLLM_LOGGING_LEVEL",
        "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS",
        "VLLM_NO_USAGE_STATS",
        "VLLM_SERVER_DEV_MODE",
        "VLLM_USE_AOT_COMPILE",
        "VLLM_USE_RAY_V2_EXECUTOR_BACKEND",
        "VLLM_USE_RUST_FRONTEND",
        "VLLM_USE_V1",
        "VLLM_USE_V2_MODEL_RUNNER",
        "VLLM_WORKER_MULTIPROC_METHOD",
    }
)
# What such a value looks like; whatever else somebody put there is not shown.
_HARMLESS = re.compile(r"[\w.,:=^|+-]{0,64}")


def shown(name: str, value: str) -> str:
    """The value of a variable where it may be shown, else the words that stand for it."""
    return value if name in SHOWN and _HARMLESS.fullmatch(value) else HIDDEN


def shown_all(variables: Mapping[str, str]) -> dict[str, str]:
    """All variables by name, in order of name."""
    return {name: shown(name, str(value)) for name, value in sorted(variables.items())}


def pairs_of(lines: Iterable[str]) -> dict[str, str]:
    """Read ``NAME=value`` lines; a line without a sign is a name alone."""
    return {name: value for name, _sign, value in (line.partition("=") for line in lines) if name}
