# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read the words after ``vllm serve`` back into options, to say which were given and what they ask for together.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..config._options import OPTIONS
from ..release.runfile import argument_groups

# What one looks at when an engine answers otherwise than expected, in the order of the debugging steps.
KINDS: dict[str, tuple[str, ...]] = {
    "sampling": (
        "generation-config",
        "override-generation-config",
        "seed",
        "logprobs-mode",
        "max-logprobs",
        "logits-processors",
        "speculative-config",
        "return-tokens-as-token-ids",
    ),
    "scheduling": (
        "max-num-seqs",
        "max-num-batched-tokens",
        "max-model-len",
        "enable-chunked-prefill",
        "long-prefill-token-threshold",
        "max-num-partial-prefills",
        "async-scheduling",
        "scheduling-policy",
        "scheduler-cls",
        "stream-interval",
        "enforce-eager",
        "compilation-config",
        "optimization-level",
    ),
    "attention": (
        "attention-backend",
        "attention-config",
        "disable-sliding-window",
        "disable-cascade-attn",
        "dtype",
        "quantization",
        "kernel-config",
        "moe-backend",
    ),
    "cache": (
        "gpu-memory-utilization",
        "kv-cache-memory-bytes",
        "kv-cache-dtype",
        "block-size",
        "num-gpu-blocks-override",
        "enable-prefix-caching",
        "prefix-caching-hash-algo",
        "cpu-offload-gb",
        "kv-transfer-config",
        "kv-offloading-size",
        "calculate-kv-scales",
        "enable-sleep-mode",
    ),
    "topology": (
        "tensor-parallel-size",
        "pipeline-parallel-size",
        "data-parallel-size",
        "data-parallel-size-local",
        "data-parallel-rank",
        "data-parallel-backend",
        "decode-context-parallel-size",
        "prefill-context-parallel-size",
        "enable-expert-parallel",
        "distributed-executor-backend",
        "disable-custom-all-reduce",
        "api-server-count",
        "nnodes",
        "node-rank",
        "master-addr",
        "headless",
    ),
}


def read_words(args: Iterable[str]) -> dict[str, Any]:
    """The options by name: a text, a list of texts, or true and false of a switch; the model has no name here."""
    options: dict[str, Any] = {}
    for head, *values in argument_groups(args):
        if not head.startswith("--"):
            continue
        name, sign, joined = head[2:].partition("=")
        name = name.replace("_", "-")
        given: list[str] = [joined, *values] if sign else values
        if name.startswith("no-") and name[3:] in OPTIONS and not given:
            options[name[3:]] = False
        else:
            options[name] = True if not given else given[0] if len(given) == 1 else given
    return options


def of_kind(options: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The options of one kind that were given."""
    return {name: options[name] for name in KINDS[kind] if name in options}


def whole(options: Mapping[str, Any], name: str, default: int) -> int:
    """An option that is a count; the default when it was not given or is no number."""
    return number(options.get(name)) or default


def number(value: Any) -> int | None:
    """A whole number as vLLM reads it on the command line: ``1024``, ``32k`` (thousands), ``32K`` (of 1,024)."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    text = str(value)
    factor = {"k": 1000, "m": 1000**2, "g": 1000**3, "K": 1024, "M": 1024**2, "G": 1024**3}.get(text[-1:])
    try:
        return int(float(text[:-1]) * factor) if factor else int(text)
    except (ValueError, OverflowError):
        return None
