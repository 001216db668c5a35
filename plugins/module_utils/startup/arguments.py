# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read the map that vLLM prints as "non-default args".

It is the text of a Python dict, and some values are texts of objects that Python cannot read back; those stay text.
Nothing is evaluated: only literals are read, and only up to a size.
Private to the collection.
"""

from __future__ import annotations

import ast
import re
from typing import Any

MAX_TEXT = 1 << 16
_MAX_DEPTH = 32
_KEY = re.compile(r"\s*'(\w+)':\s*")
_SECRETS = ("api_key", "hf_token", "watermark_config")
_OPEN, _CLOSE = "([{<", ")]}>"


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Read ``{'model': ..., ...}`` at the begin of ``text``; None when it is not whole or too long."""
    end = _end_of(text, 0, whole=True) if text.startswith("{") else None
    if end is None:
        return None
    found: dict[str, Any] = {}
    position = 1
    while position < end - 1:
        key = _KEY.match(text, position)
        stop = _end_of(text, key.end()) if key else None
        if key is None or stop is None:
            return None
        name = key.group(1)
        found[name] = "***" if name in _SECRETS else _literal(text[key.end() : stop].strip())
        position = stop + 1
    return found


def _literal(text: str) -> Any:
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _plain(value: Any) -> Any:
    """The same value as JSON can carry it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(item) for item in value), key=str)
    return value if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def _end_of(text: str, start: int, *, whole: bool = False) -> int | None:
    """Where a value that begins at ``start`` is over; None when that is not in sight.

    ``whole``: behind its closing bracket. Else: at the comma or the bracket that follows it.
    """
    scan = _Scan()
    for index in range(start, min(len(text), start + MAX_TEXT)):
        if scan.ends_at(text[index], whole=whole):
            return index + 1 if whole else index
        if scan.depth > _MAX_DEPTH:
            return None
    return None


class _Scan:
    """Follow quotes and brackets, one character at a time."""

    def __init__(self) -> None:
        self.depth = 0
        self.quote = ""
        self.escaped = False

    def ends_at(self, char: str, *, whole: bool) -> bool:
        """Take a character; True where the value is over (``whole``: the outermost bracket closes)."""
        if self.quote:
            self._in_quote(char)
            return False
        if char in "'\"":
            self.quote = char
        elif char in _OPEN:
            self.depth += 1
        elif char in _CLOSE:
            self.depth -= 1
            return self.depth < 0 or (whole and self.depth == 0)
        return char == "," and self.depth == 0

    def _in_quote(self, char: str) -> None:
        if self.escaped:
            self.escaped = False
        elif char == "\\":
            self.escaped = True
        elif char == self.quote:
            self.quote = ""
