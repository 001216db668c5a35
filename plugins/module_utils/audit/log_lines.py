# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How a line of a start looks in a release: the shape of the message, and what stands before it.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..versions import Version, parse_version
from ._log_lines import LINES

PREFIXED = Version(0, 10, 1)
PLAIN_PREFIX = Version(0, 12, 0)
ENGINE_ALONE = Version(0, 18, 0)
FORMATTER = Version(0, 31, 0)
_COLOUR, _PLAIN = "\x1b[1;36m", "\x1b[0;0m"
_HEADER = "INFO 11-30 12:34:56 [core.py:123] "
_ERROR = "ERROR 11-30 12:34:56 [core.py:123] "


@dataclass(frozen=True)
class Shape:
    """A message between two releases: ``since`` is the first that prints it so, ``until`` the first that does not."""

    fact: str
    by: str
    since: Version
    until: Version | None
    text: str

    def covers(self, version: Version) -> bool:
        """Whether this release prints the message in this shape."""
        return self.since <= version and (self.until is None or version < self.until)


@lru_cache(maxsize=1)
def shapes() -> tuple[Shape, ...]:
    """Every shape, in the order of the table."""
    return tuple(_shape(line) for line in LINES.strip().splitlines())


def _shape(line: str) -> Shape:
    fact, by, since, until, text = line.split("|", 4)
    return Shape(fact, by, parse_version(since), parse_version(until) if until else None, text)


def lines(fact: str, version: Version, device: str, headers: Version) -> tuple[str, ...]:
    """The lines that tell a fact in a release, with the headers of one (mostly the same)."""
    found = (shape for shape in shapes() if shape.fact == fact and shape.covers(version))
    return tuple(
        header + shape.text.format(version=version, device=device)
        for shape in found
        for header in _headers(shape.by, headers)
    )


def _headers(by: str, version: Version) -> Iterator[str]:
    header = {"U": "", "X": _ERROR}.get(by, _HEADER)
    if version < PREFIXED or (by == "U" and version >= FORMATTER):
        yield header
        return
    for process in _processes(by, version):
        prefix = f"({process} pid=4242)"
        yield (f"{prefix} " if version >= PLAIN_PREFIX else f"{_COLOUR}{prefix}{_PLAIN} ") + header


def _processes(by: str, version: Version) -> tuple[str, ...]:
    engine = ("EngineCore_DP0", "EngineCore") if version >= ENGINE_ALONE else ("EngineCore_DP0",)
    return {"A": ("APIServer",), "U": ("APIServer",), "E": engine, "X": engine}.get(by, (*engine, "Worker_TP0"))
