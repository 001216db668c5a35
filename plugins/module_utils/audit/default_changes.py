# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The reviewed list of defaults that changed what a service does, and of what else changed without being asked for.

Every change of a literal default between two releases was looked at once. What is not here does the same as before:
None that became an empty list or a factory, a name that was written as an expression, a default that moved from a
variable to an option. ``when`` names what a service must have for the change to reach it (``defaults.py``).

Private to the collection.
"""

from __future__ import annotations

from typing import NamedTuple


class Change(NamedTuple):
    """One change: ``name`` is an option, a variable or a key below an option; values are as people write them."""

    name: str
    since: str
    old: str
    new: str
    effect: str
    when: str = ""


FLAGS = (
    Change("--generation-config", "0.8.0", "None", "auto", "sampling defaults come from the model's generation_config"),
    Change("--seed", "0.8.0", "0", "None", "samples of one prompt differ from start to start"),
    Change("--seed", "0.12.0", "None", "0", "samples are the same after every start"),
    Change("--model", "0.10.0", "facebook/opt-125m", "Qwen/Qwen3-0.6B", "another model is served", "no model"),
    Change(
        "--prefix-caching-hash-algo", "0.10.2", "builtin", "sha256", "blocks of the prefix cache are hashed by SHA-256"
    ),
    Change(
        "--async-scheduling", "0.14.0", "false", "on where it is compatible", "scheduling runs ahead of the GPU's work"
    ),
    Change(
        "--disable-nccl-for-dp-synchronization",
        "0.14.0",
        "false",
        "decided by vLLM",
        "data-parallel ranks may synchronise over the CPU",
        "data parallel",
    ),
    Change("--kv-offloading-backend", "0.14.0", "None", "native", "the backend is chosen by itself", "kv offloading"),
    Change(
        "--api-server-count", "0.15.0", "1", "the data-parallel size", "more API server processes run", "data parallel"
    ),
    Change("--disable-cascade-attn", "0.18.0", "false", "true", "cascade attention is off"),
    Change("--gpu-memory-utilization", "0.20.0", "0.90", "0.92", "vLLM takes more of the GPU's memory"),
    Change("--dcp-comm-backend", "0.29.0", "ag_rs", "decided by vLLM", "ranks may exchange another way", "dcp"),
    Change("--cp-kv-cache-interleave-size", "0.30.0", "1", "decided by vLLM", "the KV cache may be split anew", "dcp"),
    Change("--allowed-origins", "0.32.0", '["*"]', "none", "browsers of other origins are refused (CORS)"),
    Change(
        "--mamba-cache-mode",
        "0.33.0",
        "none",
        "decided by --enable-prefix-caching",
        "state of Mamba layers is cached with the prefix",
        "mamba",
    ),
    # What is no literal of an option: the sources decide it elsewhere.
    Change(
        "--kv-transfer-config.kv_load_failure_policy",
        "0.17.0",
        "recompute",
        "fail",
        "a request whose KV blocks cannot be loaded fails instead of being computed again",
        "kv transfer",
    ),
    Change(
        "--max-num-batched-tokens",
        "0.28.0",
        "8192",
        "16384 on GPUs of 160 GiB and more",
        "activations take more memory, and the KV cache gets less",
        "large gpu",
    ),
)

VARIABLES = (
    Change("VLLM_USE_V1", "0.8.0", "0", "1", "the V1 engine runs"),
    Change("VLLM_MM_INPUT_CACHE_GIB", "0.10.1", "8", "4", "the cache of inputs is half as large", "multimodal"),
    Change("VLLM_USE_DEEP_GEMM", "0.11.0", "0", "1", "DeepGEMM kernels run where they are installed", "fp8"),
    Change("VLLM_ALLREDUCE_USE_SYMM_MEM", "0.11.0", "0", "1", "GPUs exchange by symmetric memory", "tensor parallel"),
    Change(
        "VLLM_ALL2ALL_BACKEND", "0.11.0", "naive", "allgather_reducescatter", "experts exchange another way", "experts"
    ),
    Change(
        "VLLM_FLASHINFER_MOE_BACKEND", "0.11.1", "throughput", "latency", "other kernels of the experts run", "moe env"
    ),
    Change("VLLM_NIXL_SIDE_CHANNEL_PORT", "0.11.1", "5557", "5600", "the side channel listens elsewhere", "nixl"),
    Change("VLLM_NIXL_ABORT_REQUEST_TIMEOUT", "0.11.1", "120", "480", "lost requests hold blocks longer", "nixl"),
    Change("VLLM_BLOCKSCALE_FP8_GEMM_FLASHINFER", "0.17.0", "0", "1", "FlashInfer kernels run", "fp8"),
    Change("VLLM_FLASHINFER_ALLREDUCE_BACKEND", "0.19.0", "trtllm", "auto", "GPUs exchange another way", "fi reduce"),
    Change(
        "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS",
        "0.20.0",
        "0",
        "1",
        "the memory of CUDA graphs is taken off before the KV cache is sized",
        "cuda graphs",
    ),
    Change("VLLM_USE_FLASHINFER_SAMPLER", "0.21.0", "0", "1", "top-k and top-p sampling is FlashInfer's, where it can"),
    Change("VLLM_ENFORCE_STRICT_TOOL_CALLING", "0.24.0", "0", "1", "tool calls must fit their schema"),
    Change("VLLM_ALLREDUCE_USE_FLASHINFER", "0.29.0", "0", "1", "GPUs exchange by FlashInfer", "tensor parallel"),
    Change("VLLM_ROCM_USE_AITER_FUSION_SHARED_EXPERTS", "0.12.0", "1", "0", "experts run apart", "rocm"),
    Change("VLLM_ROCM_USE_AITER_FP4BMM", "0.33.0", "1", "0", "other kernels run", "rocm"),
    Change("VLLM_ROCM_USE_AITER_FP8BMM", "0.33.0", "1", "0", "other kernels run", "rocm"),
)

# Caps on what one request may ask for, which came without being asked for: variable, release, cap.
LIMITS = (
    ("VLLM_MAX_N_SEQUENCES", "0.19.0", "16384 samples of one request (n)"),
    ("VLLM_MAX_IMAGE_PIXELS", "0.25.0", "178956970 pixels of one image"),
    ("VLLM_MAX_COMPLETION_PROMPTS", "0.26.0", "1024 prompts of one completion"),
    ("VLLM_MAX_STOP_STRINGS", "0.28.0", "4 stop strings of one request"),
    ("VLLM_MAX_MEDIA_DOWNLOAD_SIZE_MB", "0.29.0", "256 MB of one media file that is fetched"),
)
