# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Step 3: which sampling, scheduling, attention, cache and topology options were set on purpose, and do they agree?

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..config.arguments import argument_notes
from ..findings import ERROR, INFO, WARNING, Finding
from .case import Case
from .model import SOURCE, Section, facts, unread_of
from .words import KINDS, number, of_kind

SOURCES = ("release", "environment")
_TIGHT = 0.97


def section(case: Case) -> Section:
    """The section."""
    options = case.options
    kinds = [(f"{kind} options", of_kind(options, kind) or ("none given" if options else None), "release.json")
             for kind in KINDS]  # fmt: skip
    switches = {name: value for name, value in case.variables.items() if name.startswith(("VLLM_", "NCCL_"))}
    rows = facts(*kinds, ("variables of vLLM and NCCL", switches, "environment"))
    findings = tuple([*_of_the_version(case), *_scheduling(case), *_memory(case), *_slow(case)])
    title = "3. Explicit sampling, scheduling, attention, cache and topology options"
    return Section("options", title, rows, findings, unread_of(case.unread, SOURCES))


def _of_the_version(case: Case) -> Iterator[Finding]:
    if case.version is not None:
        for note in argument_notes(case.service, case.options, case.version):
            yield replace(note, source=SOURCE)


def _scheduling(case: Case) -> Iterator[Finding]:
    options = case.options
    batched, length = number(options.get("max-num-batched-tokens")), number(options.get("max-model-len"))
    if options.get("enable-chunked-prefill") is False and batched and length and batched < length:
        yield Finding(
            "batch_below_length",
            ERROR,
            f"{case.service} config.max-num-batched-tokens",
            f"without chunked prefill a batch of {batched:,} tokens cannot take a prompt of {length:,}",
            expected=length,
            observed=batched,
            remedy="raise max-num-batched-tokens to max-model-len, or let chunked prefill on",
            source=SOURCE,
        )
    sequences = number(options.get("max-num-seqs"))
    if sequences and batched and batched < sequences:
        yield Finding(
            "batch_below_sequences",
            ERROR,
            f"{case.service} config.max-num-batched-tokens",
            f"a batch of {batched:,} tokens is smaller than max-num-seqs, {sequences:,}",
            expected=f"{sequences} or more",
            observed=batched,
            remedy="raise max-num-batched-tokens, or lower max-num-seqs",
            source=SOURCE,
        )


def _memory(case: Case) -> Iterator[Finding]:
    options = case.options
    try:
        share = float(str(options.get("gpu-memory-utilization", 0)))
    except ValueError:
        share = 0.0
    if share > _TIGHT:
        yield Finding(
            "memory_share_tight",
            WARNING,
            f"{case.service} config.gpu-memory-utilization",
            f"{share:g} of the GPU leaves little for CUDA graphs, NCCL and other processes",
            expected=f"{_TIGHT:g} or less",
            observed=share,
            remedy="lower it, or set kv-cache-memory-bytes from what an earlier start measured",
            source=SOURCE,
        )
    if "num-gpu-blocks-override" in options:
        yield Finding(
            "blocks_overridden",
            WARNING,
            f"{case.service} config.num-gpu-blocks-override",
            "the size of the KV cache is set by hand, so nothing that the start measures counts",
            observed=options["num-gpu-blocks-override"],
            remedy="take it out: it is for tests of vLLM",
            source=SOURCE,
        )


def _slow(case: Case) -> Iterator[Finding]:
    if case.options.get("enforce-eager") is True and case.content.get("gpus") != "none":
        yield Finding(
            "eager",
            INFO,
            f"{case.service} config.enforce-eager",
            "no CUDA graphs and no compilation: good for finding a fault, slow for serving",
            remedy="take it out once the fault is found",
            source=SOURCE,
        )
