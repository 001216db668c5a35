# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Batches, sequences and lengths that exclude each other, and memory that is no share.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import ERROR
from ...versions import Version
from ..case import Case
from .saying import Said, line_rule

_SCHEDULER = "vllm/config/scheduler.py (verify_max_model_len) 0.11.1, 0.19.1, 0.28.0, 0.33.0"
_TOKENS, _SEQUENCES, _LENGTH = "--max-num-batched-tokens", "--max-num-seqs", "--max-model-len"


@line_rule("batched_tokens_below_sequences", ERROR, f"{_SCHEDULER}; vllm/config.py 0.9.2")
def _sequences(case: Case, line: CommandLine) -> Iterator[Said]:
    tokens, sequences = line.integer(_TOKENS), line.integer(_SEQUENCES)
    if tokens is not None and sequences is not None and 0 < tokens < sequences:
        yield Said(
            _TOKENS,
            f"a batch of {tokens} tokens cannot hold {sequences} sequences ({_SEQUENCES}): vLLM refuses to start",
            f"raise {_TOKENS} to {sequences} or more, or lower {_SEQUENCES}",
            expected=f"at least {sequences}",
            observed=tokens,
        )


@line_rule("batched_tokens_below_model_length", ERROR, _SCHEDULER, since=Version(0, 11, 1))
def _length(case: Case, line: CommandLine) -> Iterator[Said]:
    tokens, length = line.integer(_TOKENS), line.integer(_LENGTH)
    if line.switched("--enable-chunked-prefill") is not False or tokens is None or length is None:
        return
    if 0 < tokens < length:
        yield Said(
            _TOKENS,
            f"without chunked prefill a whole prompt is one batch, and {tokens} tokens are less than {_LENGTH} "
            f"{length}: vLLM refuses to start",
            "leave chunked prefill on, or raise the batch to the length of the model",
            expected=f"at least {length}",
            observed=tokens,
        )


@line_rule("long_prefill_above_model_length", ERROR, f"{_SCHEDULER}; vllm/config.py 0.9.2")
def _long_prefill(case: Case, line: CommandLine) -> Iterator[Said]:
    threshold, length = line.integer("--long-prefill-token-threshold"), line.integer(_LENGTH)
    if threshold is not None and length is not None and 0 < length < threshold:
        yield Said(
            "--long-prefill-token-threshold",
            f"{threshold} is above {_LENGTH} {length}: vLLM refuses to start",
            f"give less than {length}, or 0",
            expected=f"at most {length}",
            observed=threshold,
        )


@line_rule(
    "gpu_memory_utilization_range",
    ERROR,
    "vllm/config/cache.py (gpu_memory_utilization) 0.11.1, 0.19.1, 0.33.0; vllm/config.py 0.9.2",
)
def _share(case: Case, line: CommandLine) -> Iterator[Said]:
    share = line.number("--gpu-memory-utilization")
    if share is not None and not 0 < share <= 1:
        yield Said(
            "--gpu-memory-utilization",
            f"{share:g} is no share of the GPU's memory: vLLM refuses to start",
            "give a number between 0 and 1, 0.9 for nine tenths",
            expected="above 0, at most 1",
            observed=share,
        )


@line_rule(
    "sleep_mode_with_expandable_segments",
    ERROR,
    "vllm/device_allocator/cumem.py 0.9.2, 0.19.1; no longer in 0.20.2",
    until=Version(0, 20),
)
def _sleep(case: Case, line: CommandLine) -> Iterator[Said]:
    settings = (case.subject.env or {}).get("PYTORCH_CUDA_ALLOC_CONF", "")
    if line.has("--enable-sleep-mode") and "expandable_segments:true" in settings.replace(" ", "").lower():
        yield Said(
            "PYTORCH_CUDA_ALLOC_CONF",
            "sleep mode needs a memory pool that expandable segments exclude: the start fails with an assertion",
            "leave expandable_segments out, or leave --enable-sleep-mode out",
            observed=settings,
        )


RULES = (_sequences, _length, _long_prefill, _share, _sleep)
