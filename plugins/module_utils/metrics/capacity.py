# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Compare the KV cache that a server tells in its metrics with the one that its start wrote into the log.

From 0.24.0 the page has the very numbers that the log prints, the concurrency with all its digits. Both are of one
engine: with data parallelism each engine writes a line of its own, and the page tells, for all of them, what the engine
said that reported first. Blocks times block size is no measure of tokens: a request of full length may leave its last
block half empty, a hybrid model's groups share the blocks, context parallelism multiplies what a block holds, and the
page adds up the blocks of all engines. So it is shown and never judged, and a page without the labels (before 0.24.0,
or of a model without a KV cache) is not compared. Private to the collection.
"""

from __future__ import annotations

from typing import Any

from ..findings import WARNING, Finding
from ..startup.parse import StartupReport
from .report import MetricsReport

# The log has two digits behind the point.
_ROUNDED = 0.005 + 1e-9


def compare_capacity(service: str, startup: StartupReport, metrics: MetricsReport) -> Finding | None:
    """A finding where the log of the start and the page of the server cannot be about the same engine; else None."""
    tokens, factor = metrics.kv_cache_size_tokens, metrics.kv_cache_max_concurrency
    other = []
    if tokens is not None and startup.kv_cache_tokens and tokens not in startup.kv_cache_tokens:
        said = ", ".join(f"{each:,}" for each in startup.kv_cache_tokens)
        other.append(f"the log of this start says {said} tokens, /metrics says {tokens:,}")
    if factor is not None and startup.max_concurrency and not _told(factor, startup):
        said = ", ".join(f"{each:.2f}" for _length, each in startup.max_concurrency)
        other.append(f"the log of this start says {said} requests of full length at once, /metrics says {factor:.2f}")
    if not other:
        return None
    return Finding(
        id="kv_cache_disagrees",
        severity=WARNING,
        subject=service,
        message="KV cache: " + "; ".join(other),
        expected={
            "tokens": list(startup.kv_cache_tokens),
            "max_concurrency": [list(pair) for pair in startup.max_concurrency],
        },
        observed=_shown(metrics),
        remedy=f"vllm-host status {service}, vllm-host startup-log {service}: see if what answers is this start, "
        "or an engine that was resized after it",
        source="verification",
    )


def _told(factor: float, startup: StartupReport) -> bool:
    return any(abs(factor - each) <= _ROUNDED for _length, each in startup.max_concurrency)


def _shown(metrics: MetricsReport) -> dict[str, Any]:
    shown = {
        "tokens": metrics.kv_cache_size_tokens,
        "max_concurrency": metrics.kv_cache_max_concurrency,
        "num_gpu_blocks": metrics.num_gpu_blocks,
        "block_size": metrics.block_size,
        "engines": list(metrics.engines),
    }
    return {name: value for name, value in shown.items() if value not in (None, [])}
