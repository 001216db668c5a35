# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Join the lines of a log that a terminal has wrapped inside words.

A wrapped log has several lines of exactly the widest width; behind such a line everything that does not begin like a
record goes on with it. A log that was cut at a width, not wrapped, has the next record there. Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .record import plain

_NARROWEST = 40
_LOOK = 2000
_BEGINS = re.compile(
    r"\s*$|\s{2}|\(\w[^()]*pid=|\((?:EngineCore|APIServer|Worker|VllmWorker|Ray)|\[|\{|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b"
    r"|Traceback|Process |usage:|\d{4}-\d\d-\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:|(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b"
    r"|Loading |Capturing |Killed\b|\*\*\*|During handling|The above exception|\s*[\u2502\u2503]|[\w.-]+\s*\| |nvidia-container|docker:"
)


def width(text: str) -> int | None:
    """The width at which a text was wrapped; None when it was not."""
    lines = [plain(line).rstrip() for line in text.splitlines()[:_LOOK]]
    widest = max((len(line) for line in lines), default=0)
    if widest < _NARROWEST:
        return None
    pairs = [(line, after) for line, after in zip(lines, lines[1:]) if len(line) in (widest, widest - 1)]
    going_on = sum(1 for line, after in pairs if len(line) == widest and not _BEGINS.match(after))
    return widest if going_on >= 2 and 2 * going_on >= sum(1 for line, _after in pairs if len(line) == widest) else None


def unwrapped(block: bytes, at: int) -> bytes:
    """A block with its wrapped lines joined."""
    return "\n".join(_joined(block.decode("utf-8", "replace").splitlines(), at)).encode("utf-8", "replace") + b"\n"


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
