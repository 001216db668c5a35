# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Undo what a terminal or a page did to the lines of a log: wrapped inside words, indented as a whole.

A wrapped log has several lines of exactly the widest width; behind such a line everything that does not begin like a
record goes on with it. A log that was cut at a width, not wrapped, has the next record there.
Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .record import plain

_NARROWEST = 40
_USUAL = (80, 100, 120, 132, 160, 200)  # columns of terminals: one line of such a width may be enough
_LOOK = 2000
_RECORD = (
    r"\(\w[^()]*pid=|\((?:EngineCore|APIServer|Worker|VllmWorker|Ray)|\[(?:rank\d|default\d|\d{4}-|\d\d:|pod/"
    r"|[a-z_]+\])|\{|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b"
    r"|Traceback|Process |usage:|\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error"
    r"|Exception|Interrupt)\b"
    r"|> |[^\t]{1,60}\t[^\t]{1,60}\t|Loading |Capturing |Killed\b|\*\*\*|During handling|The above exception"
    r"|\s*[\u2502\u2503]|[\w.-]+\s*\| "
    r"|nvidia-container|docker:"
)
_BAR = re.compile(r"it/s|s/it|\d+%")
_LOOKS_LIKE_A_RECORD = re.compile(_RECORD)
_BEGINS = re.compile(rf"\s*$|\s{{2}}|{_RECORD}")


def width(text: str) -> int | None:
    """The width at which a text was wrapped; None when it was not."""
    lines = [plain(line).rstrip() for line in text.split("\n")[:_LOOK]]
    widest = max((len(line) for line in lines), default=0)
    if widest < _NARROWEST:
        return None
    pairs = [(line, after) for line, after in zip(lines, lines[1:]) if len(line) in (widest, widest - 1)]
    going_on = sum(1 for line, after in pairs if len(line) == widest and not _BEGINS.match(after))
    enough = 1 if widest in _USUAL else 2
    return (
        widest
        if going_on >= enough and 2 * going_on >= sum(1 for line, _after in pairs if len(line) == widest)
        else None
    )


def indent(text: str) -> int:
    """By how many blanks all records of a text are indented; states of a progress bar begin where they like."""
    lines = [
        line
        for line in text.split("\n")[:_LOOK]
        if _LOOKS_LIKE_A_RECORD.match(line.lstrip(" \t")) and not _BAR.search(line)
    ]
    return min((len(line) - len(line.lstrip(" \t")) for line in lines), default=0)


def dedented(block: bytes, by: int) -> bytes:
    """A block without the indentation of the whole text."""
    return re.sub(rb"(?m)^[ \t]{1,%d}" % by, b"", block)


def unwrapped(block: bytes, at: int) -> bytes:
    """A block with its wrapped lines joined."""
    return "\n".join(_joined(block.decode("utf-8", "replace").split("\n"), at)).encode("utf-8", "replace") + b"\n"


def _joined(lines: list[str], at: int) -> Iterator[str]:
    held = ""
    full = False
    for line in lines:
        text = plain(line)
        shown = text.rstrip()
        if full and not _BEGINS.match(shown):
            held += shown if len(shown) >= at else text.rstrip("\n")
        else:
            if held:
                yield held
            held = text
        full = len(shown) in (at, at - 1) and len(text) >= at - 1
    if held:
        yield held
