# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read one source after another: one that fails is a line of the report and never the end of it. No decisions.

Private to the collection.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Callable, TypeVar

from ...diagnose.contents import TEXT, Raw
from ...release.paths import Paths
from ..commands import Result, run
from ..peek import read_small

T = TypeVar("T")

# Seconds for all of it; a source that comes later has what is left.
LONGEST = 150.0
ASK = 20.0


@dataclass
class Reader:
    """What was read so far of one service, and why what is missing is missing."""

    paths: Paths
    end: float = field(default_factory=lambda: time.monotonic() + LONGEST)
    unread: dict[str, str] = field(default_factory=dict)
    raws: list[Raw] = field(default_factory=list)

    def source(self, name: str, read: Callable[[], T]) -> T | None:
        """What a source says; None, and a line of the report, when it cannot be read."""
        try:
            if time.monotonic() > self.end:
                raise TimeoutError(f"the {LONGEST:g} s for the whole diagnosis were used up")
            return read()
        except Exception as error:  # whatever a host does, the other sources are still read
            self.unread[name] = why(error)
            return None

    def run(self, argv: Sequence[str], *, timeout: float = ASK, **more: Any) -> Result:
        """Run a command within what is left of the time; a Runner."""
        return run(argv, timeout=max(1.0, min(timeout, self.end - time.monotonic())), **more)

    def said(self, name: str, argv: Sequence[str], part: str, limit: int) -> str:
        """What a command prints, also as a part of the bundle."""
        text = self.source(name, lambda: checked(self.run(argv))) or ""
        self.keep(part, TEXT, text, limit, " ".join(argv))
        return text

    def text(self, name: str, path: Path) -> str:
        """The text of a small file; empty when it cannot be read."""
        return self.source(name, partial(read_small, path)) or ""

    def object(self, name: str, path: Path) -> dict[str, Any]:
        """The JSON object that a small file holds; empty when it cannot be read."""
        return self.source(name, lambda: json_object(read_small(path))) or {}

    def keep(self, name: str, kind: str, content: Any, limit: int, source: str) -> None:
        """Remember a part of the bundle."""
        if content:
            self.raws.append(Raw(name, kind, content, limit, source))


def checked(result: Result) -> str:
    """What a command printed; ValueError with its own words when it failed."""
    if not result.ok:
        said = " ".join((result.err or result.out).split())[:300]
        raise ValueError(said or f"{result.argv[0]} ended with {result.rc}")
    return result.out


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object; ValueError for anything else."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("is no JSON object")
    return data


def why(error: Exception) -> str:
    """Why something could not be read, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split())[:300] or type(error).__name__
