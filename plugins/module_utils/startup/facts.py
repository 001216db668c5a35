# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The figures that vLLM prints at its start, in the words of the releases 0.4 to 0.33.

Private to the collection.
"""

from __future__ import annotations

import re
from typing import Any, Callable

_MAX_VALUES = 256
_NUMBER = r"(-?\d+(?:\.\d+)?)"
_COUNT = r"(\d[\d,]*)"

# A pattern ends with the unit or what follows the figure, so that a line that was cut inside a figure tells nothing.
_PATTERNS: dict[str, re.Pattern[str]] = {
    "weights_load_seconds": re.compile(rf"Loading weights took {_NUMBER} seconds"),
    "kv_cache_available_gib": re.compile(
        rf"Available KV cache memory: {_NUMBER} GiB|memory reserved for KV Cache is {_NUMBER} ?GiB"
    ),
    "kv_cache_tokens": re.compile(rf"[A-Z]+(?: \+ host)? KV cache size: {_COUNT} tokens"),
    "max_concurrency": re.compile(rf"Maximum concurrency for {_COUNT} tokens per request: {_NUMBER}x"),
    "gpu_blocks": re.compile(r"# (\w+) blocks: (\d+)(?:, # CPU blocks: (\d+)|(?=\s*$))"),
    "compile_seconds": re.compile(rf"torch\.compile (?:takes|took) {_NUMBER} s in total"),
    "graph_capture": re.compile(rf"Graph capturing finished in {_NUMBER} secs(?:, took {_NUMBER} GiB)?"),
    "engine_init_seconds": re.compile(
        rf"init engine \([^)]*\) took {_NUMBER} s(?:econds)?\b(?: \(compilation: {_NUMBER} s)?"
    ),
    "model_memory_gib": re.compile(
        rf"Model loading took {_NUMBER} Gi?B(?: memory)? and \d+(?:\.\d+)? seconds"
        rf"|Loading model weights took {_NUMBER} GB"
    ),
    "model_load_seconds": re.compile(rf"Model loading took \d+(?:\.\d+)? Gi?B(?: memory)? and {_NUMBER} seconds"),
}
NAMES = tuple(_PATTERNS)
_ANY = re.compile(r" took |takes|KV Cache is|KV cache|concurrency for| blocks: |finished in")


class Facts:
    """Collect the figures of a text, each value once."""

    def __init__(self) -> None:
        self.values: dict[str, list[Any]] = {name: [] for name in NAMES}

    def take(self, line: str) -> bool:
        """Look for every figure in one line (from 0.28 one line holds two); whether there is one."""
        if not _ANY.search(line):
            return False
        found = [
            (name, match) for name, match in ((name, find.search(line)) for name, find in _PATTERNS.items()) if match
        ]
        for name, match in found:
            self._keep(name, _READ.get(name, _first)(match))
        return bool(found)

    def _keep(self, name: str, value: Any) -> None:
        kept = self.values[name]
        if value not in kept and len(kept) < _MAX_VALUES:
            kept.append(value)


def _first(match: re.Match[str]) -> float:
    return float(next(group for group in match.groups() if group is not None))


def _pair(match: re.Match[str]) -> tuple[float, float | None]:
    second = match.group(2)
    return (_figure(match.group(1)), None if second is None else float(second))


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _figure(text: str) -> float:
    """A number as it was printed: 28 stays 28."""
    return float(text) if "." in text else int(text)


_READ: dict[str, Callable[[re.Match[str]], Any]] = {
    "kv_cache_tokens": lambda match: _count(match.group(1)),
    "max_concurrency": lambda match: (_count(match.group(1)), float(match.group(2))),
    "gpu_blocks": lambda match: tuple(group for group in match.groups() if group is not None),
    "graph_capture": _pair,
    "engine_init_seconds": _pair,
}
