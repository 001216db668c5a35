# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One kind of cause: how a line shows it, how sure that is, and what the line names as culprit.

Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

# How much a line proves: a specific text, a text that often has a deeper cause beside it, any exception at all.
SPECIFIC, GENERAL, ANY = 3, 2, 1
# Named groups that stay text, though they may look like numbers.
_WORDS = frozenset(
    {
        "argument", "missing", "needs_cuda", "weight", "model_type", "architecture", "memory_space", "tokenizer_class",
        "backend", "path", "dtype", "method",
    }
)  # fmt: skip
_MIB = {"MiB": 1.0, "GiB": 1024.0, "KiB": 1 / 1024, "bytes": 1 / 1024 / 1024}


@dataclass(frozen=True)
class Kind:
    """``raw``: the text counts wherever it stands; else only in an exception's line or a record of level ERROR.

    ``soft``: the text (often of a warning) is a cause only if the start then fails for no better one.
    """

    slug: str
    patterns: tuple[re.Pattern[str], ...]
    any_of_them: re.Pattern[str]
    strength: int = SPECIFIC
    raw: bool = False
    soft: bool = False

    def match(self, text: str) -> re.Match[str] | None:
        """The first of the patterns, in their order, that the text shows: the first ones name more."""
        if not self.any_of_them.search(text):
            return None
        return next(filter(None, (pattern.search(text) for pattern in self.patterns)), None)


def kind(slug: str, *patterns: str, strength: int = SPECIFIC, raw: bool = False, soft: bool = False) -> Kind:
    """A kind of cause that one of the patterns shows."""
    alone = tuple(re.compile(pattern) for pattern in patterns)
    return Kind(slug, alone, re.compile("|".join(patterns)), strength, raw, soft)


def named(match: re.Match[str]) -> dict[str, Any]:
    """The culprits that a text names, as the types they are; an amount with its unit becomes MiB."""
    found: dict[str, Any] = {}
    for name, text in match.groupdict().items():
        if text is None or name.endswith("_unit"):
            continue
        key = re.sub(r"_?\d+$", "", name)  # alternatives of one pattern may not share a name
        unit = match.groupdict().get(f"{name}_unit")
        found[key] = float(text) * _MIB[unit] if unit else _typed(key, text)
    return found


def _typed(name: str, text: str) -> Any:
    if name in _WORDS:
        return text.strip().strip("'\"`")
    figure = text.rstrip(".").replace(",", "")
    try:
        return float(figure) if "." in figure or name.endswith("_gib") else int(figure)
    except ValueError:
        return text
