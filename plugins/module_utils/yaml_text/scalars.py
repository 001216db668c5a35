# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Single values of YAML: what a plain word means, what stands in quotes, how lines are folded.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,30})|0x[0-9a-fA-F]{1,16}|0o[0-7]{1,21}")
_FLOAT = re.compile(r"[-+]?(?:[0-9]{1,30}\.[0-9]{0,30}|\.[0-9]{1,30}|[0-9]{1,30}(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?")
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b",
    " ": " ", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
# A backslash at the end of a line joins it with the next one, without a space.
_GOES_ON = re.compile(r"(?<!\\)((?:\\\\)*)\\\n[ \t]*(?![ \t\n])")
_STRAY = re.compile(r"(?<!\\)(?:\\\\)*\\[ \t]*\n")
_CODES = {"x": 2, "u": 4, "U": 8}


class YamlError(ValueError):
    """A text that is no YAML, or uses of it what no configuration needs; ``line`` counts from 1."""

    def __init__(self, line: int, message: str) -> None:
        """Keep the place for who says it to people."""
        super().__init__(f"line {line}: {message}")
        self.line, self.message = line, message


def plain(text: str) -> object:
    """The value of a word without quotes, as YAML 1.2 has it: ``yes`` and ``on`` are texts."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in {"0x", "0o"} else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def fold(lines: Sequence[str]) -> str:
    """Lines of one value as one text: a line break is a space, an empty line is a line break."""
    text, breaks = "", 0
    for number, line in enumerate(lines):
        if not line and number:
            breaks += 1
            continue
        text += ("\n" * breaks or " ") + line if number else line
        breaks = 0
    return text + "\n" * breaks


def single_quoted(inner: str) -> str:
    """What stands between single quotes."""
    return _folded(inner).replace("''", "'")


def double_quoted(inner: str) -> str:
    """What stands between double quotes, escapes read; ValueError for an escape that is none."""
    inner = _GOES_ON.sub(r"\1", inner)
    if _STRAY.search(inner):
        raise ValueError("a backslash before blanks or an empty line is not read: write the text in one line")
    text = _folded(inner)
    found: list[str] = []
    at = 0
    while at < len(text):
        letter = text[at]
        at += 1
        if letter != "\\":
            found.append(letter)
            continue
        code = text[at : at + 1]
        at += 1
        if code in _CODES:
            digits = text[at : at + _CODES[code]]
            at += _CODES[code]
            found.append(_letter(digits, _CODES[code]))
        elif code in _ESCAPES:
            found.append(_ESCAPES[code])
        else:
            raise ValueError(f"\\{code} is no escape")
    return "".join(found)


def _letter(digits: str, wanted: int) -> str:
    try:
        if len(digits) == wanted and re.fullmatch(r"[0-9a-fA-F]+", digits):
            return chr(int(digits, 16))
    except (ValueError, OverflowError):
        pass
    raise ValueError("an escape by number needs its hexadecimal digits")


def _folded(inner: str) -> str:
    """Fold the lines of a quoted value: one line break is a space, more are one less."""
    if "\n" not in inner:
        return inner
    first, *middle = inner.split("\n")
    lines = [first.rstrip(" \t"), *(line.strip(" \t") for line in middle[:-1]), middle[-1].lstrip(" \t")]
    return re.sub("\0+", lambda breaks: "\n" * (len(breaks.group()) - 1) or " ", "\0".join(lines))
