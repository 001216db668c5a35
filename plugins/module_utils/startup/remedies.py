# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What to change, in the words of the inventory and with the figures of the log itself.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from .replaced import replacement
from .slugs import NONE

_BLOCK = 16  # tokens: lengths are given in whole blocks

_PLAIN = {
    "accelerator_compile_oom": "choose a smaller block or batch (max-num-batched-tokens), or another attention backend",
    "kv_cache_no_memory": (
        "raise gpu-memory-utilization, or lower max-num-batched-tokens or max-num-seqs, or use more GPUs"
    ),
    "gated_model_auth": "give the service an HF_TOKEN that has access in vllm_secrets, and accept the model's terms",
    "model_not_found": "correct model and revision of the service; a path has to be on the host and mounted",
    "nccl_error": "set NCCL_DEBUG: INFO in env of the service, start it again and read what NCCL says before it fails",
    "cuda_forward_compat_unsupported": "use an image whose CUDA the driver supports, or update the driver of the host",
    "gpu_arch_unsupported": (
        "use an image that is built for this GPU, or other GPUs; a quantization can need newer GPUs"
    ),
    "attention_backend_unsupported": (
        "take the option out that needs this backend (attention-backend, kv-cache-dtype), or change it"
    ),
    "cuda_kernel_fault": "set CUDA_LAUNCH_BLOCKING: '1' in env for one start to find the kernel; look for Xid in dmesg",
    "accelerator_runtime_error": "check the accelerator's runtime and driver on the host",
    "no_accelerator_detected": "check that the service asks for GPUs (gpus) and that nvidia-smi works on the host",
    "compile_error": (
        "remove the compile cache of the image, or start once with enforce-eager: true to see if it is the compiler"
    ),
    "weights_mismatch": (
        "use the revision and quantization that belong to this model, or a release that knows its class"
    ),
    "weights_corrupt": "remove the file from the cache and load the model again; compare sizes with the hub",
    "tokenizer_error": "set tokenizer to a working one, or use a release whose transformers knows this tokenizer",
    "trust_remote_code_required": (
        "read the model's code, then set trust-remote-code: true, or use a model without code"
    ),
    "model_arch_unsupported": "use a release that knows this architecture, or another model",
    "chat_template_missing": "set chat-template of the service, or call /v1/completions",
    "ray_not_enough_gpus": (
        "lower tensor-parallel-size times pipeline-parallel-size, or add nodes with free GPUs to Ray"
    ),
    "disk_full_or_quota": "free space on the disk that the line names (caches are in /var/cache/gpuhosts-vllm)",
    "worker_segfault": (
        "look for the library in the native stack; start once without optional features (LoRA, offload, all-reduce)"
    ),
    "sigterm_during_start": (
        "find who stopped it: a probe, a deadline, or a person; a slow start needs a longer deadline"
    ),
    "user_interrupt": "start it again",
    "killed_sigkill": (
        "look for the kernel's OOM killer: journalctl -k | grep -i oom; give the host or container more memory"
    ),
    "unknown_error": "read the first error line; the runbook says how to report a cause that is not known yet",
    "root_cause_not_in_log": (
        "read the whole log of the start: vllm-host startup-log SERVICE --log; a process that was killed leaves no"
        " word in it: journalctl -k names it"
    ),
}
_LESS_MEMORY = {
    "oom_weights": "use more GPUs (tensor-parallel-size), a quantized model, or a GPU with more memory",
    "oom_profile": "lower max-num-batched-tokens or max-num-seqs, or use more GPUs",
    "oom_graph_capture": "lower gpu-memory-utilization or max-num-seqs, or set enforce-eager: true",
    "oom_warmup": "lower max-num-seqs or gpu-memory-utilization",
    "oom_wakeup": "free the memory that others took while it slept, or lower gpu-memory-utilization",
}


def remedy(slug: str, details: Mapping[str, Any]) -> str | None:
    """What to change for a diagnosis; None when nothing is wrong."""
    if slug in _LESS_MEMORY:
        return f"{_LESS_MEMORY[slug]}{_missing(details)}"
    special = _SPECIAL.get(slug)
    said = special(details) if special else None
    return said or _PLAIN.get(slug) or (None if slug in (NONE, "sigterm_after_ready") else _GENERAL.get(slug))


_GENERAL = {
    "kv_cache_too_small": "lower max-model-len, or raise gpu-memory-utilization, or use more GPUs",
    "gpu_memory_busy": "end what else uses the GPU (nvidia-smi), or lower gpu-memory-utilization",
    "shm_too_small": "raise shm_size of the service",
    "driver_too_old_for_cuda": "update the driver of the host, or use an image with an older CUDA",
    "dtype_unsupported_on_gpu": "set dtype: half, or use newer GPUs",
    "max_model_len_exceeds_model": "lower max-model-len to what the model allows",
    "tp_size_invalid": "choose a tensor-parallel-size that divides the model's attention heads",
    "unrecognized_arguments": "take the option out of config, or correct its name or value",
    "port_in_use": "stop what listens there (ss -ltnp), or choose another port",
    "dependency_error": "use an image that has the library; nothing is installed into a running image",
}


def _missing(details: Mapping[str, Any]) -> str:
    tried, free = details.get("oom_tried_mib"), details.get("gpu_free_mib")
    if tried is None:
        return ""
    return f" (it asked for {tried:.0f} MiB" + (f", {free:.0f} MiB were free)" if free is not None else ")")


def _kv_cache(details: Mapping[str, Any]) -> str | None:
    length, needed, available = (details.get(key) for key in ("max_model_len", "needed_gib", "available_gib"))
    fits = details.get("estimated_max_model_len") or details.get("kv_tokens_available")
    about = "" if fits else "about "
    if not fits and length and needed and available:
        fits = int(length * available / needed) // _BLOCK * _BLOCK
    if not fits:
        return None
    room = f", or give the KV cache {needed - available:.2f} GiB more" if needed and available else ""
    return f"lower max-model-len from {length} to {about}{fits} at most{room} (gpu-memory-utilization, more GPUs)"


def _busy(details: Mapping[str, Any]) -> str | None:
    free, total, wanted = (details.get(key) for key in ("free_gib", "total_gib", "wanted_gib"))
    if not free or not total or not wanted:
        return None
    share = int(100 * free / total) / 100
    lower = f", or lower gpu-memory-utilization to {share:.2f}" if share > 0 else ""
    return f"end what else uses the GPU: {wanted - free:.2f} GiB are missing (nvidia-smi shows who){lower}"


def _length(details: Mapping[str, Any]) -> str | None:
    allowed = details.get("derived_max_model_len")
    return f"lower max-model-len from {details.get('max_model_len')} to {allowed} at most" if allowed else None


def _split(details: Mapping[str, Any]) -> str | None:
    heads, size, gpus = details.get("heads"), details.get("tp"), details.get("gpus")
    if gpus is not None:
        return f"lower tensor-parallel-size times pipeline-parallel-size from {size} to the {gpus} GPUs there are"
    if not heads or not size:
        return None
    fits = [str(number) for number in (1, 2, 4, 8, 16) if heads % number == 0]
    return f"set tensor-parallel-size to a divisor of {heads} ({', '.join(fits)}), not {size}"


def _options(details: Mapping[str, Any]) -> str | None:
    argument = str(details.get("argument") or "")
    found = [text for text in map(replacement, argument.replace("=", " ").split()) if text]
    if found:
        return "; ".join(found)
    return f"take {argument} out of config, or correct its name or value" if argument else None


def _port(details: Mapping[str, Any]) -> str | None:
    port = details.get("port")
    return f"stop what listens on port {port} (ss -ltnp sport = :{port}), or choose another port" if port else None


def _driver(details: Mapping[str, Any]) -> str | None:
    needed, code = details.get("needs_cuda"), details.get("driver_cuda_code")
    if needed:
        return f"update the driver of the host to one for CUDA {needed} or newer, or use an image with an older CUDA"
    if code:
        has = f"{code // 1000}.{code % 1000 // 10}"
        return f"the driver of the host knows CUDA {has}: update it, or use an image with CUDA {has} or older"
    return None


def _dtype(details: Mapping[str, Any]) -> str | None:
    needed, found = details.get("capability_needed"), details.get("capability_found")
    return f"set dtype: half: this GPU has compute capability {found}, {needed} is needed" if found else None


def _library(details: Mapping[str, Any]) -> str | None:
    missing = details.get("missing")
    return f"use an image that has {missing}; nothing is installed into a running image" if missing else None


def _shm(details: Mapping[str, Any]) -> str | None:
    needed, free = details.get("needed_mib"), details.get("free_mib")
    return f"raise shm_size of the service: {needed} MiB are needed, {free} MiB are free" if needed else None


_SPECIAL: dict[str, Callable[[Mapping[str, Any]], str | None]] = {
    "kv_cache_too_small": _kv_cache,
    "gpu_memory_busy": _busy,
    "max_model_len_exceeds_model": _length,
    "tp_size_invalid": _split,
    "unrecognized_arguments": _options,
    "port_in_use": _port,
    "driver_too_old_for_cuda": _driver,
    "dtype_unsupported_on_gpu": _dtype,
    "dependency_error": _library,
    "shm_too_small": _shm,
}
