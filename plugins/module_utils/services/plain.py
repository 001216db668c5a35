# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Bring whatever YAML and templates produced down to plain data, or say where it is not.

After this nothing can surprise: maps have text keys, texts are printable and can be written, numbers are finite and
of a size that JSON can hold, and nothing contains itself.

Private to the collection.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .problems import base_name

DEEPEST = 12
LONGEST_TEXT = 16_384
LONGEST_NAME = 100
MOST_VALUES = 5_000
LARGEST = 2**63
_DROPPED = object()
# C0, C1 and DEL, the halves of characters that cannot be written, and what some readers take for a line break.
_NOT_ONE_LINE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff]")


@dataclass(frozen=True)
class NotPlain:
    """A value that is no plain data: where, what it is, what is allowed."""

    key: str
    value: object
    allowed: str


def plain(value: object, key: str) -> tuple[Any, list[NotPlain]]:
    """Copy ``value`` as plain Python data, without what is not plain, and list what was left out."""
    copier = _Copier()
    copied = copier.copy(value, key, 0)
    return (None if copied is _DROPPED else copied), copier.faults


class _Copier:
    def __init__(self) -> None:
        self.faults: list[NotPlain] = []
        self.left = MOST_VALUES

    def copy(self, value: object, key: str, depth: int) -> Any:
        self.left -= 1
        if depth > DEEPEST:
            return self._drop(key, "...", f"at most {DEEPEST} levels of nesting (does it contain itself?)")
        if self.left < 0:
            if self.left == -1:
                self._drop(key, "...", f"at most {MOST_VALUES} values in one place")
            return _DROPPED
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str):
            return self._text(value, key)
        if isinstance(value, (int, float)):
            return self._number(value, key)
        return self._container(value, key, depth)

    def _drop(self, key: str, value: object, allowed: str) -> Any:
        self.faults.append(NotPlain(key, value, allowed))
        return _DROPPED

    def _container(self, value: object, key: str, depth: int) -> Any:
        if isinstance(value, Mapping):
            pairs = ((self._name(name, key), item) for name, item in value.items())
            copied = {name: self.copy(item, f"{key}.{name}", depth + 1) for name, item in pairs if name is not None}
            return {name: item for name, item in copied.items() if item is not _DROPPED}
        if isinstance(value, (list, tuple)):
            items = [self.copy(item, f"{key}[{index}]", depth + 1) for index, item in enumerate(value)]
            return [item for item in items if item is not _DROPPED]
        kind = base_name(value)
        return self._drop(key, value, f"text, number, true, false, list or map; YAML made a {kind} of it: quote it")

    def _number(self, value: float, key: str) -> Any:
        if isinstance(value, int):
            fits = -LARGEST < value < LARGEST
            return int(value) if fits else self._drop(key, "a huge number", "a number of at most 18 digits")
        return float(value) if math.isfinite(value) else self._drop(key, value, "a finite number")

    def _text(self, value: str, key: str) -> Any:
        if len(value) > LONGEST_TEXT:
            return self._drop(key, f"a text of {len(value)} characters", f"at most {LONGEST_TEXT} characters")
        if not _one_line(value):
            return self._drop(key, value, "one line of text, without line breaks, tabs and control characters")
        return "".join(value)

    def _name(self, name: object, key: str) -> str | None:
        if isinstance(name, str) and len(name) <= LONGEST_NAME and _one_line(name):
            return "".join(name)
        kind = base_name(name)
        allowed = (
            f"keys of at most {LONGEST_NAME} printable characters"
            if isinstance(name, str)
            else f"keys that are text; YAML made a {kind} of this one: put it in quotes"
        )
        self._drop(
            key, f"the key {name!s:.40}" if isinstance(name, (str, bool, float)) else f"a {kind} as a key", allowed
        )
        return None


def _one_line(text: str) -> bool:
    return not _NOT_ONE_LINE.search(text)
