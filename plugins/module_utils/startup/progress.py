# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Follow a start through its log: which stage it is in, and whether a line shows that it moves.

A line moves the start when it opens a stage that was not seen yet or when a counter of the log is further than it was.
The same line again, a bar that stands still, throughput figures and warnings move nothing, so that a silence limit can
count on it; a start that repeats itself for ever is ended by its deadline.
Private to the collection.
"""

from __future__ import annotations

import re

from .lines import plain_lines, redact

_MAX_COUNTERS = 64
_MAX_DETAIL = 120

# In the order in which a start goes through them.
STAGES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("reading arguments", re.compile(r"non-default args:|vLLM (?:API )?server version|█  version ")),
    ("reading the model's configuration", re.compile(r"Resolved architecture:|Using max model len")),
    ("starting the engine", re.compile(r"Initializing an? (?:V[01] )?LLM engine")),
    ("joining ranks", re.compile(r"rank \d+ in world size \d+ is assigned")),
    ("loading weights", re.compile(r"Starting to load model|Loading safetensors checkpoint shards")),
    ("weights loaded", re.compile(r"Loading weights took")),
    ("model loaded", re.compile(r"Model loading took")),
    (
        "compiling",
        re.compile(r"Using cache directory: .*torch\.compile|Dynamo bytecode transform time|Start compiling"),
    ),
    ("compiled", re.compile(r"torch\.compile (?:takes|took)|Directly load (?:AOT|the compiled)")),
    ("sizing the KV cache", re.compile(r"Available KV cache memory|KV cache size:|GiB for KV cache on node")),
    ("capturing graphs", re.compile(r"Capturing \w*\s?CUDA graph", re.IGNORECASE)),
    ("graphs captured", re.compile(r"Graph capturing finished")),
    ("engine ready", re.compile(r"init engine \(")),
    ("opening the port", re.compile(r"Starting vLLM (?:API )?server")),
    ("ready", re.compile(r"Application startup complete")),
)

_SHARE = re.compile(r"(\d+)%")
_OF = re.compile(r"(\d+)/(\d+)\b")
_AMOUNT = re.compile(r"([\d.]+)([kMGT])i?B?/([\d.]+)([kMGT])")
_BAR = re.compile(r"\d+%.*(?:\||\[)|\b\d+/\d+ \[\d")
_RANGE = re.compile(r"Compiling a graph for compile range \((\d+), (\d+)\)|Cache the graph .*?\((\d+), (\d+)\)")
_UNITS = {"k": 1, "M": 1000, "G": 1000**2, "T": 1000**3}
_RECORD = re.compile(r".*\b(?:INFO|WARNING|ERROR) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]*\] ?")


class Progress:
    """Where a start is; feed it the lines of its log."""

    def __init__(self) -> None:
        self.stage = "started"
        self.detail = ""
        self._index = -1
        self._seen: set[int] = set()
        self._counters: dict[str, float] = {}

    def feed(self, line: str) -> bool:
        """Take a line (or several states of one, with carriage returns); True when the start moved."""
        moved = [self._feed(part) for part in plain_lines([line])]
        return any(moved)

    def _feed(self, line: str) -> bool:
        counted = self._count(line)
        opened = self._open(line)
        if counted or opened:
            self.detail = redact(_RECORD.sub("", line).strip())[:_MAX_DETAIL]
        return counted or opened

    def _open(self, line: str) -> bool:
        """Whether the line belongs to a stage that was not seen before."""
        for index, (name, pattern) in enumerate(STAGES):
            if index not in self._seen and pattern.search(line):
                self._seen.add(index)
                if index > self._index:
                    self._index, self.stage = index, name
                return True
        return False

    def _count(self, line: str) -> bool:
        """Whether a counter of the line is further than before."""
        found = _counter(line)
        if found is None:
            return False
        name, value = found
        before = self._counters.get(name)
        if before is None and len(self._counters) >= _MAX_COUNTERS:
            return False
        if before is None or value > before:
            self._counters[name] = value
        return value > (before or 0.0)


def _counter(line: str) -> tuple[str, float] | None:
    """The counter of a line: what it counts, and how far it is."""
    compiled = _RANGE.search(line)
    if compiled:
        return "compile ranges", float(max(int(part) for part in compiled.groups() if part))
    if not _BAR.search(line):
        return None
    label = _RECORD.sub("", line).split(":", 1)[0].strip()[:80] if ":" in line else "bar"
    return re.sub(r"[\d.]+", "#", label), _how_far(line)


def _how_far(line: str) -> float:
    """The finest figure of a progress bar: bytes, then counts, then percent."""
    amount = _AMOUNT.search(line)
    if amount:
        return float(amount.group(1)) * _UNITS[amount.group(2)] if amount.group(1).count(".") <= 1 else 0.0
    counted = _OF.search(line)
    if counted:
        return float(counted.group(1))
    share = _SHARE.search(line)
    return float(share.group(1)) if share else 0.0
