# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How much of each part an evidence bundle takes, so that all of it is below 20 MB whatever its parts are.

The limits hold for what goes in, so also for what cannot be compressed.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

MIB = 1 << 20
LIMIT = 20_000_000
# Three of these: the logs are what a bundle is for. The head has the cause, the tail the end.
LOG_HEAD, LOG_TAIL = 2 * MIB, 1 * MIB
LOGS = 3
SMALL, MIDDLE, LARGE = 128 * 1024, 512 * 1024, 1 * MIB
# What all parts together may have; a tar archive adds at most 1 KiB a part, and gzip next to nothing.
TOTAL = 18 * MIB
_TAR_BLOCK = 512


@dataclass(frozen=True)
class Part:
    """One file of a bundle; ``left_out`` are the bytes of its source that are not in it."""

    name: str
    data: bytes
    left_out: int = 0
    source: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Say what the part is, without its content."""
        return {"name": self.name, "bytes": len(self.data), "left_out": self.left_out, "source": self.source}


def cut(data: bytes, head: int, tail: int) -> tuple[bytes, int]:
    """Keep head and tail of a text that is too long, whole lines where it has some; and say how much is left out."""
    if len(data) <= head + tail:
        return data, 0
    first = data[:head]
    first = first[: first.rfind(b"\n") + 1] or first
    last = data[-tail:] if tail else b""
    last = last[last.find(b"\n") + 1 :] if b"\n" in last[:-1] else last
    gone = len(data) - len(first) - len(last)
    return first + gap(gone) + last, gone


def gap(left_out: int) -> bytes:
    """The line that stands for what was left out."""
    return f"\n[... {left_out:,} bytes left out ...]\n".encode()


def text_part(name: str, text: str, limit: int, *, left_out: int = 0, source: str = "") -> Part:
    """A part of at most so many bytes of text, a third of them from its end."""
    head = limit * 2 // 3
    data, gone = cut(text.encode("utf-8", "replace"), head, limit - head)
    return Part(name, data, left_out + gone, source)


def fit(parts: Iterable[Part], total: int = TOTAL) -> list[Part]:
    """The parts that fit, in order of importance; the first that does not is cut, those behind it are left out."""
    kept: list[Part] = []
    room = total
    for part in parts:
        least = room - 2 * _TAR_BLOCK - len(gap(LIMIT))
        fitting = part if len(part.data) + 2 * _TAR_BLOCK <= room else shortened(part, least)
        kept.append(fitting)
        room -= len(fitting.data) + 2 * _TAR_BLOCK
    return [part for part in kept if part.data]


def shortened(part: Part, limit: int) -> Part:
    """The same part with fewer bytes; without any when there is no room worth it."""
    if limit < _TAR_BLOCK:
        return Part(part.name, b"", part.left_out + len(part.data), part.source)
    head = limit * 2 // 3
    data, gone = cut(part.data, head, limit - head)
    return Part(part.name, data, part.left_out + gone, part.source)
