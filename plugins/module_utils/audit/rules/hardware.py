# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Number formats against what the GPU can do. Only where the GPU is known.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR, INFO
from ...versions import Version
from ..case import Case
from .saying import Said, case_rule, line_rule
from .values import is_official, is_official_cpu

# method: (first release, least capability) as get_min_capability says; older releases first
_LEAST = {
    "fp8": ((Version(0, 9), 80), (Version(0, 14), 75)),
    "awq": ((Version(0, 9), 75),),
    "awq_marlin": ((Version(0, 9), 80), (Version(0, 14), 75)),
    "gptq_marlin": ((Version(0, 9), 80), (Version(0, 14), 75)),
    "modelopt": ((Version(0, 9), 89), (Version(0, 27), 80)),
    "mxfp4": ((Version(0, 10, 1), 80),),
    "fp_quant": ((Version(0, 11, 1), 100),),
    "experts_int8": ((Version(0, 9), 80),),
    "fbgemm_fp8": ((Version(0, 9), 80),),
    "bitsandbytes": ((Version(0, 9), 70),),
    "torchao": ((Version(0, 9), 75),),
}
_FP8_ATTENTION = {"FLASH_ATTN": 90, "FLASH_ATTN_VLLM_V1": 90, "TRITON_ATTN": 89, "TRITON_ATTN_VLLM_V1": 89}
_TRITON_REFUSES = Version(0, 28)
_BFLOAT16 = 80


def _capability(case: Case) -> int | None:
    text = (case.subject.host.compute_capability if case.subject.host else None) or ""
    major, dot, minor = text.strip().partition(".")
    return int(major) * 10 + int(minor) if dot and major.isdigit() and minor.isdigit() else None


def _written(capability: int) -> str:
    return f"{capability // 10}.{capability % 10}"


def _least(method: str, version: Version) -> int | None:
    steps = [least for since, least in _LEAST.get(method, ()) if version >= since]
    return steps[-1] if steps else None


@line_rule(
    "quantization_needs_newer_gpu",
    ERROR,
    "vllm/model_executor/layers/quantization/*.py (get_min_capability) 0.9.2 to 0.33.0; vllm/config/vllm.py",
)
def _quantization(case: Case, line: CommandLine) -> Iterator[Said]:
    method, there = line.value("--quantization") or "", _capability(case)
    least = _least(method, case.version)
    if there is not None and least is not None and there < least:
        yield Said(
            "--quantization",
            f"{method} needs compute capability {_written(least)}, the GPU has {_written(there)}: "
            "vLLM refuses to start",
            "choose weights in a format that the GPU can compute (awq, gptq), or another GPU",
            expected=f"at least {_written(least)}",
            observed=_written(there),
        )


@line_rule("bfloat16_needs_newer_gpu", ERROR, "vllm/platforms/cuda.py (check_if_supports_dtype) 0.9.2, 0.33.0")
def _bfloat16(case: Case, line: CommandLine) -> Iterator[Said]:
    there = _capability(case)
    if line.value("--dtype") == "bfloat16" and there is not None and there < _BFLOAT16:
        yield Said(
            "--dtype",
            f"bfloat16 needs compute capability 8.0, the GPU has {_written(there)}: vLLM refuses to start",
            "set --dtype half",
            expected="at least 8.0",
            observed=_written(there),
        )


def _backend(case: Case, line: CommandLine) -> str:
    chosen = line.value("--attention-backend") or (case.subject.env or {}).get("VLLM_ATTENTION_BACKEND", "")
    return chosen.upper()


@line_rule(
    "fp8_kv_cache_needs_newer_gpu",
    ERROR,
    "vllm/v1/attention/backends/flash_attn.py 0.9.2, 0.19.1; triton_attn.py 0.28.0, 0.33.0",
)
def _kv_cache(case: Case, line: CommandLine) -> Iterator[Said]:
    kind, there, backend = line.value("--kv-cache-dtype") or "", _capability(case), _backend(case, line)
    least = _FP8_ATTENTION.get(backend)
    if not kind.startswith("fp8") or there is None or least is None or there >= least:
        return
    if backend.startswith("TRITON") and case.version < _TRITON_REFUSES:
        return
    yield Said(
        "--kv-cache-dtype",
        f"{backend} keeps no {kind} cache on compute capability {_written(there)}, it needs {_written(least)}: "
        "the start fails",
        "let vLLM choose the attention backend (FlashInfer can), or set --kv-cache-dtype auto",
        expected=f"at least {_written(least)}",
        observed=_written(there),
    )


@case_rule("cpu_settings_on_gpu_image", INFO, "vllm/envs.py (VLLM_CPU_*), vllm/platforms/cpu.py 0.9.2, 0.33.0")
def _cpu_settings(case: Case) -> Iterator[Said]:
    container = case.subject.container
    names = sorted(name for name in case.subject.env or {} if name.startswith("VLLM_CPU_"))
    if container is not None and is_official(container.image) and names:
        yield Said(
            names[0],
            f"{', '.join(names)} are read by the CPU build only, {container.image} is the CUDA build: they do nothing",
            "leave them out, or run vllm/vllm-openai-cpu",
            observed=names,
        )


@case_rule("gpus_for_cpu_image", INFO, "docker/Dockerfile.cpu 0.19.1, 0.33.0")
def _gpus_for_cpu(case: Case) -> Iterator[Said]:
    container = case.subject.container
    if container is not None and is_official_cpu(container.image) and container.gpus not in (None, "", "none"):
        yield Said(
            "--gpus",
            f"{container.image} is the CPU build: the GPUs that it is given stay idle",
            "run vllm/vllm-openai on GPUs, or give it none",
            observed=container.gpus,
        )


RULES = (_quantization, _bfloat16, _kv_cache, _cpu_settings, _gpus_for_cpu)
