# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Causes: memory of the GPU, of the KV cache, of the host, and space on disks.

Private to the collection.
"""

from __future__ import annotations

from .cause import kind

# Which of the oom_ slugs it is follows from what the process was doing (phases.py).
OUT_OF_MEMORY = "oom"
_GIB = r"[\d.]+"

KINDS = (
    kind(
        "accelerator_compile_oom",
        r"[Rr]an out of memory in memory space (?P<memory_space>vmem|smem|cmem|sflag)\b",
        raw=True,
    ),
    kind(
        "accelerator_compile_oom",
        r"out of resource: (?P<memory_space>shared memory|tensor memory|threads|registers)",
    ),
    kind(
        "kv_cache_too_small",
        rf"To serve at least one request with the models?'?s? max seq len \((?P<max_model_len>\d+)\),"
        rf" \(?(?P<needed_gib>{_GIB}) Gi?B "
        rf"KV cache is needed, which is larger than the available KV cache memory \((?P<available_gib>{_GIB}) Gi?B\)"
        r"(?:.*?estimated maximum model length is (?P<estimated_max_model_len>\d+))?",
        r"max seq len \((?P<max_model_len2>\d+)\) is larger than the maximum number of tokens that can be stored in"
        r" KV cache "
        r"\((?P<kv_tokens_available>\d+)\)",
        r"Cannot auto-fit max_model_len: not enough",
    ),
    kind(
        "kv_cache_no_memory",
        r"No available memory for the cache blocks",
        r"The worker already uses (?P<used_gib>[\d.]+) GiB \(model weights and runtime\), more than the"
        r" (?P<wanted_gib>[\d.]+) GiB",
        r"Available memory on node \d+ .*on kv cache allocation is less than requested memory for kv",
    ),
    kind(
        "gpu_memory_busy",
        rf"Free memory on device (?:\S+ )?\((?P<free_gib>{_GIB})/(?P<total_gib>{_GIB}) GiB\) on startup is less"
        rf" than desired GPU "
        rf"memory utilization \((?P<utilization>{_GIB}), (?P<wanted_gib2>{_GIB}) GiB\)",
        r"on startup is less than the engine's budget after excluding external",
        r"Error in memory profiling\. Initial free memory",
    ),
    kind(
        "shm_too_small",
        r"/dev/shm\S*(?: for [^:]+)?[:,]? .*?No space left on device",
        r"No space left on device.*?(?:/dev/shm|'/(?:psm_|torch_|nccl|sem\.))",
        r"Error while creating shared memory segment",
        r"Insufficient space in /dev/shm.*?(?P<needed_mib>\d+) MiB required, (?P<free_mib>\d+) MiB free",
        r"unable to (?:write|open) (?:to )?(?:file|shared memory object) </torch_",
        r"[Bb]us error\b",
        r"\bSIGBUS\b",
        r"out of shared memory|insufficient shared memory \(shm\)",
        raw=True,
    ),
    kind(
        "disk_full_or_quota",
        r"\[Errno (?P<errno>28|122)\](?:.*?: '(?P<path>[^']+)')?",
        r"[Nn]o space left on device",
        r"Disk quota exceeded",
        r"\bos error (?:28|122)\b",
        r"Not enough free disk space",
        r"\b(?:ENOSPC|EDQUOT)\b",
    ),
    kind(OUT_OF_MEMORY, r"^CUDA Error: out of memory at ", raw=True),
    kind(
        OUT_OF_MEMORY,
        r"(?:out of memory|OutOfMemoryError"
        r"|not enough (?:GPU )?memory)(?:.*?Tried to allocate (?P<oom_tried_mib>[\d.]+) "
        r"(?P<oom_tried_mib_unit>[KMG]iB|bytes))?(?:.*?total capacity of (?P<gpu_total_gib>[\d.]+) GiB)?"
        r"(?:.*?of which (?P<gpu_free_mib>[\d.]+) (?P<gpu_free_mib_unit>[KMG]iB|bytes) is free)?"
        r"(?:.*?warming up (?:sampler|pooler)[^0-9]{0,40} with (?P<max_num_seqs>\d+) dummy requests)?",
        r"hipErrorOutOfMemory|cudaErrorMemoryAllocation|CUBLAS_STATUS_ALLOC_FAILED",
        r"UR_RESULT_ERROR_OUT_OF_(?:DEVICE|HOST|RESOURCES)\w*",
        r"RESOURCE_EXHAUSTED|[Rr]an out of memory in memory space",
        r"can't allocate memory|Cannot allocate memory|std::bad_alloc|\bMemoryError\b",
        r"[Ff]ailed to allocate .*memory",
    ),
)
