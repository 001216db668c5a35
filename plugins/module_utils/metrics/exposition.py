# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read samples of the Prometheus text format, one line at a time.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MAX_LINE = 65536
_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+\S+)?\s*\Z", re.DOTALL)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n"}


@dataclass(frozen=True)
class Sample:
    """One sample: the metric's name, its labels, its value."""

    name: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


def samples(lines: Iterable[str], start: tuple[str, ...]) -> Iterator[Sample]:
    """The samples whose name begins with one of ``start``; a line that is none of the format is left out."""
    for line in lines:
        if not line.startswith(start) or len(line) > MAX_LINE:
            continue
        match = _SAMPLE.match(line.rstrip("\r\n"))
        value = _number(match.group(3)) if match else None
        if match and value is not None:
            yield Sample(match.group(1), value, _labels(match.group(2) or ""))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _labels(text: str) -> dict[str, str]:
    return {name: _unescape(value) for name, value in _LABEL.findall(text)}


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match.group(1), match.group(1)), text) if "\\" in text else text
