# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The closed list of what a start can have died of, each with a title; every one has a runbook page.

Private to the collection.
"""

from __future__ import annotations

NONE = "none"
NOT_IN_LOG = "root_cause_not_in_log"
UNKNOWN = "unknown_error"

SLUGS: dict[str, str] = {
    "oom_weights": "the GPU ran out of memory while the model was built or its weights were read",
    "oom_profile": "the GPU ran out of memory in the profiling run, before the KV cache was sized",
    "oom_graph_capture": "the GPU ran out of memory while graphs were captured",
    "oom_warmup": "the GPU ran out of memory in the warm-up, after the KV cache was sized",
    "oom_wakeup": "the GPU ran out of memory when the engine woke from sleep mode",
    "accelerator_compile_oom": "the compiler ran out of an on-chip memory",
    "kv_cache_too_small": "the KV cache cannot hold one request of max-model-len",
    "kv_cache_no_memory": "nothing is left of the memory for the KV cache",
    "gpu_memory_busy": "less GPU memory is free than gpu-memory-utilization asks for",
    "gated_model_auth": "the model hub refused access to the model",
    "model_not_found": "the model is not where the engine was told to look",
    "nccl_error": "NCCL failed, and nothing says what made it fail",
    "shm_too_small": "/dev/shm of the container is too small",
    "driver_too_old_for_cuda": "the NVIDIA driver of the host is too old for the image",
    "cuda_forward_compat_unsupported": "the image's CUDA compatibility libraries do not work on this GPU",
    "gpu_arch_unsupported": "the image has no code for this GPU",
    "dtype_unsupported_on_gpu": "this GPU cannot compute in the data type",
    "attention_backend_unsupported": "no attention backend can do this configuration",
    "cuda_kernel_fault": "a kernel failed on the GPU",
    "accelerator_runtime_error": "the accelerator's runtime failed",
    "no_accelerator_detected": "the engine sees no GPU",
    "compile_error": "torch.compile failed",
    "weights_mismatch": "the weights do not fit the model's class",
    "weights_corrupt": "a weight file cannot be read",
    "tokenizer_error": "the tokenizer cannot be built",
    "trust_remote_code_required": "the model brings code of its own, which is not allowed to run",
    "model_arch_unsupported": "this release does not know the model's architecture",
    "max_model_len_exceeds_model": "max-model-len is above what the model allows",
    "tp_size_invalid": "the model cannot be split over that many GPUs",
    "unrecognized_arguments": "this release does not know an option or its value",
    "chat_template_missing": "chat requests fail because there is no chat template",
    "port_in_use": "the address is taken",
    "ray_not_enough_gpus": "Ray cannot give the GPUs that were asked for",
    "disk_full_or_quota": "a disk is full",
    "dependency_error": "a library is missing or does not fit",
    "worker_segfault": "a process of the engine crashed (segmentation fault)",
    "sigterm_during_start": "somebody ended the start (SIGTERM)",
    "sigterm_after_ready": "somebody stopped the server (SIGTERM)",
    "user_interrupt": "somebody interrupted the start (Ctrl-C)",
    "killed_sigkill": "the process was killed (SIGKILL), most likely for memory",
    UNKNOWN: "the engine failed with an error that has no page of its own",
    NOT_IN_LOG: "the log says that the start failed, not why",
}
