# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What /metrics of a vLLM server says about its state: whose metrics, busy or idle, how full the KV cache is.

Private to the collection.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .exposition import Sample, samples

# Ray Serve puts its own word in front; newer Ray also turns the colon into an underscore.
PREFIXES = ("vllm:", "ray_vllm:", "ray_vllm_")
_COMMENTS = tuple(f"# {word} {prefix}" for word in ("HELP", "TYPE") for prefix in PREFIXES)
_USAGE = ("kv_cache_usage_perc", "gpu_cache_usage_perc")
_MAX_ENGINES = 1024


@dataclass(frozen=True)
class MetricsSummary:
    """``state`` is ``idle``, ``busy``, ``no_samples`` (families without a value), or None where nothing is vLLM's.

    ``running`` and ``waiting`` are sums over engines, the usage (0 to 1) is the largest; what is not told is None.
    """

    prefix: str | None = None
    state: str | None = None
    model_name: str | None = None
    engines: tuple[str, ...] = ()
    running: int | None = None
    waiting: int | None = None
    kv_cache_usage: float | None = None
    kv_cache_size_tokens: int | None = None
    kv_cache_max_concurrency: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the summary as plain data."""
        return {**asdict(self), "engines": list(self.engines)}


def summarize_metrics(lines: Iterable[str]) -> MetricsSummary:
    """Read exposition text line by line; memory does not grow with the text."""
    reader = _Reader()
    for sample in samples(reader.watch(lines), PREFIXES):
        reader.take(sample)
    return reader.summary()


class _Reader:
    def __init__(self) -> None:
        self.prefix: str | None = None
        self.seen = 0
        self.model_name: str | None = None
        self.engines: list[str] = []
        self.sums: dict[str, float] = {}
        self.usage: float | None = None
        self.capacity: dict[str, str] = {}

    def watch(self, lines: Iterable[str]) -> Iterable[str]:
        """Pass all lines on, and remember a prefix that only comments show."""
        for line in lines:
            if self.prefix is None and line.startswith(_COMMENTS):
                self.prefix = _prefix(line.split(" ", 3)[2])
            yield line

    def take(self, sample: Sample) -> None:
        self.seen += 1
        self.prefix = _prefix(sample.name)
        name = sample.name[len(self.prefix or "") :]
        self.model_name = self.model_name or sample.labels.get("model_name") or None
        engine = sample.labels.get("engine")
        if engine is not None and engine not in self.engines and len(self.engines) < _MAX_ENGINES:
            self.engines.append(engine)
        if name in ("num_requests_running", "num_requests_waiting") and math.isfinite(sample.value):
            self.sums[name] = self.sums.get(name, 0.0) + sample.value
        elif name in _USAGE and math.isfinite(sample.value):
            self.usage = max(sample.value, self.usage or 0.0)
        elif name == "cache_config_info":
            self.capacity = sample.labels

    def summary(self) -> MetricsSummary:
        running, waiting = self._sum("num_requests_running"), self._sum("num_requests_waiting")
        return MetricsSummary(
            prefix=self.prefix,
            state=self._state((running or 0) + (waiting or 0)),
            model_name=self.model_name,
            engines=tuple(self.engines),
            running=running,
            waiting=waiting,
            kv_cache_usage=self.usage,
            kv_cache_size_tokens=_whole(self.capacity.get("kv_cache_size_tokens")),
            kv_cache_max_concurrency=_real(self.capacity.get("kv_cache_max_concurrency")),
        )

    def _sum(self, name: str) -> int | None:
        value = self.sums.get(name)
        return None if value is None else round(value)

    def _state(self, requests: int) -> str | None:
        if not self.seen:
            return "no_samples" if self.prefix else None
        return "busy" if requests else "idle"


def _prefix(name: str) -> str | None:
    return next((prefix for prefix in PREFIXES if name.startswith(prefix)), None)


def _real(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _whole(text: str | None) -> int | None:
    value = _real(text)
    return None if value is None else int(value)
