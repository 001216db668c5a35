# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read samples of the Prometheus text format (OpenMetrics too), one line at a time.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Union

MAX_LINE = 65536
Text = Union[str, bytes, Iterable[str], Iterable[bytes]]

# Every piece is either quoted or not, so that no line makes the match slow.
_LABELS = r'[^"}]*(?:"[^"\\]*(?:\\.[^"\\]*)*"[^"}]*)*'
# Behind the value: a timestamp, and an exemplar, which OpenMetrics begins with a hash.
_SAMPLE = re.compile(
    rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:[ \t]*\{{({_LABELS})\}})?[ \t]*(?<![a-zA-Z0-9_:])(\S+)(?:[ \t]+[^\s#]\S*)?"
    r"(?:[ \t]+#.*)?\s*\Z",
    re.DOTALL,
)
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n"}


@dataclass(frozen=True)
class Sample:
    """One sample: the metric's name, its labels, its value."""

    name: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


def lines_of(text: Text) -> Iterator[str]:
    """The lines of a text, of its bytes, or of its lines, one at a time.

    Only a line feed ends a line: the values of labels may hold every other character that Python takes for an end.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if isinstance(text, str):
        yield from _split(text)
        return
    for line in text:
        yield (line.decode("utf-8", "replace") if isinstance(line, bytes) else line).strip()


def samples(lines: Iterable[str], start: tuple[str, ...]) -> Iterator[Sample]:
    """The samples whose name begins with one of ``start``; a line that is none of the format is left out."""
    for line in lines:
        if not line.startswith(start) or len(line) > MAX_LINE:
            continue
        match = _SAMPLE.match(line)
        value = _number(match.group(3)) if match else None
        if match and value is not None:
            yield Sample(match.group(1), value, _labels(match.group(2) or ""))


def _split(text: str) -> Iterator[str]:
    begin = 0
    while begin < len(text):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        yield text[begin:end].strip()
        begin = end + 1


def _number(text: str) -> float | None:
    """A value of the format; Python reads ``1_0`` too, which is none."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _labels(text: str) -> dict[str, str]:
    return {name: _unescape(value) for name, value in _LABEL.findall(text)}


def _unescape(text: str) -> str:
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match.group(1), match.group(1)), text) if "\\" in text else text
