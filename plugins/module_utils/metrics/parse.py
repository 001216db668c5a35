# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read a page of /metrics of any vLLM release: one pass over its lines, memory does not grow with the page.

Private to the collection.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from .exposition import Sample, Text, lines_of, samples
from .families import BARE, BY_ENGINE, CONFIG, LORA, MAPS, PREFIXES, SHARES, SUMS
from .report import MetricsReport, Number

_V = TypeVar("_V")
_MAX_VALUES = 1024
_SHARES_BY_ENGINE = {BY_ENGINE[name] for name in SHARES if name in BY_ENGINE}
_MAX_TEXT = 500
_DECLARED = re.compile(r"#[ \t]*(?:HELP|TYPE|UNIT)[ \t]+(" + "|".join(PREFIXES) + ")")


def parse_metrics(text: Text) -> MetricsReport:
    """Read a page as text, as bytes or as lines of either; what is no sample of vLLM is passed over."""
    reader = _Reader()
    for sample in samples(reader.watch(lines_of(text)), PREFIXES):
        reader.take(sample)
    return reader.report()


class _Reader:
    def __init__(self) -> None:
        self.declared: str | None = None
        self.prefix: str | None = None
        self.model_name: str | None = None
        self.engines: list[str] = []
        self.sums: dict[str, float] = {}
        self.shares: dict[str, float] = {}
        self.maps: dict[str, dict[str, float]] = {}
        self.by_engine: dict[str, dict[str, float]] = {name: {} for name in BY_ENGINE.values()}
        self.config: dict[str, str] = {}
        self.lora: Sample | None = None

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """Pass all lines on, and remember a prefix that only comments show."""
        for line in lines:
            if self.declared is None and line.startswith("#"):
                match = _DECLARED.match(line)
                self.declared = match.group(1) if match else None
            yield line

    def take(self, sample: Sample) -> None:
        """Take one sample; a page tells about the servers of one prefix, the first one."""
        prefix = next(prefix for prefix in PREFIXES if sample.name.startswith(prefix))
        self.prefix = self.prefix or prefix
        if prefix != self.prefix:
            return
        name = sample.name[len(prefix) :]
        self.take_labels(sample.labels)
        if name == CONFIG:
            self.take_config(sample.labels)
        elif name == LORA and (self.lora is None or not sample.value < self.lora.value):
            self.lora = sample  # its value is the time at which it was true
        elif math.isfinite(sample.value):
            self.take_value(name, sample)

    def take_labels(self, labels: dict[str, str]) -> None:
        self.model_name = self.model_name or labels.get("model_name", "")[:_MAX_TEXT] or None
        engine = labels.get("engine", "")[:_MAX_TEXT]
        if "engine" in labels and engine not in self.engines and len(self.engines) < _MAX_VALUES:
            self.engines.append(engine)

    def take_config(self, labels: dict[str, str]) -> None:
        """Of engines that differ, the one that holds least counts: a request may be sent to it."""
        known, new = (_real(config.get("kv_cache_size_tokens")) for config in (self.config, labels))
        if not self.config or (new is not None and (known is None or new < known)):
            self.config = {name: value[:_MAX_TEXT] for name, value in list(labels.items())[:_MAX_VALUES]}

    def take_value(self, name: str, sample: Sample) -> None:
        total, value = BARE.get(name, name), sample.value
        if total in SUMS:
            _add(self.sums, name, value)
        elif name in SHARES:
            _raise(self.shares, name, value)
        elif total in MAPS:
            _add(self.maps.setdefault(name, {}), _label(sample, MAPS[total][0]), value)
        if name in BY_ENGINE:
            values = self.by_engine[BY_ENGINE[name]]
            (_raise if name in SHARES else _add)(values, _label(sample, "engine"), value)

    def report(self) -> MetricsReport:
        config, lora = self.config, self.lora.labels if self.lora else {}
        found = MetricsReport(
            prefix=self.prefix or self.declared,
            model_name=self.model_name,
            engines=tuple(self.engines),
            numbers={
                **{SUMS[BARE.get(name, name)]: _plain(value) for name, value in _totals_last(self.sums)},
                **{SHARES[name]: value for name, value in self.shares.items()},
            },
            maps={MAPS[BARE.get(name, name)][1]: _plains(values) for name, values in _totals_last(self.maps)},
            by_engine={
                name: dict(values) if name in _SHARES_BY_ENGINE else _plains(values)
                for name, values in self.by_engine.items()
            },
            block_size=_whole(config.get("block_size")),
            num_gpu_blocks=_whole(config.get("num_gpu_blocks")),
            num_cpu_blocks=_whole(config.get("num_cpu_blocks")),
            cache_dtype=config.get("cache_dtype"),
            kv_cache_size_tokens=_whole(config.get("kv_cache_size_tokens")),
            kv_cache_max_concurrency=_real(config.get("kv_cache_max_concurrency")),
            cache_config=config,
            max_lora=_whole(lora.get("max_lora")),
            running_lora_adapters=_names(lora.get("running_lora_adapters")),
            waiting_lora_adapters=_names(lora.get("waiting_lora_adapters")),
        )
        return replace(found, state=self.state(found.requests))

    def state(self, requests: int) -> str | None:
        if self.prefix is None:
            return "no_samples" if self.declared else None
        return "busy" if requests else "idle"


def _label(sample: Sample, name: str) -> str | None:
    return sample.labels[name][:_MAX_TEXT] if name in sample.labels else None


def _add(values: dict[str, float], name: str | None, value: float) -> None:
    if name is not None and (name in values or len(values) < _MAX_VALUES):
        values[name] = values.get(name, 0.0) + value


def _raise(values: dict[str, float], name: str | None, value: float) -> None:
    if name is not None and (name in values or len(values) < _MAX_VALUES):
        values[name] = max(value, values.get(name, value))


def _totals_last(values: dict[str, _V]) -> list[tuple[str, _V]]:
    """The counters, in an order in which the one with the ending wins over the one without it."""
    return sorted(values.items(), key=lambda item: item[0] not in BARE)


def _plains(values: dict[str, float]) -> dict[str, Number]:
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: float) -> Number:
    return int(value) if value.is_integer() else value


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _real(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _whole(text: str | None) -> int | None:
    value = _real(text)
    return None if value is None else int(value)
