# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Keep the beginning and the end of a text that may have any length; memory holds no more than the end.

Private to the collection.
"""

from __future__ import annotations

from collections import deque
from typing import Callable


class HeadTail:
    """Takes lines: the first ones go to ``write`` as they come, of all others the last are held; counts the rest."""

    def __init__(self, write: Callable[[str], object], head_bytes: int, tail_bytes: int) -> None:
        self._write = write
        self._tail: deque[tuple[str, int]] = deque()
        self._head_left = head_bytes
        self._tail_left = tail_bytes
        self._tail_bytes = tail_bytes
        self.lines = 0
        self.left_out = 0

    def add(self, line: str) -> None:
        """Take the next line; one that is longer than the whole tail is cut."""
        self.lines += 1
        size = _size(line)
        if self._head_left >= size:
            self._head_left -= size
            self._write(line)
            return
        self.end_head()
        if size > self._tail_bytes:
            line = line.encode("utf-8", "replace")[: self._tail_bytes - 1].decode("utf-8", "ignore")
            size = _size(line)
        self._tail.append((line, size))
        self._tail_left -= size
        while self._tail_left < 0:
            self._tail_left += self._tail.popleft()[1]
            self.left_out += 1

    def end_head(self) -> None:
        """From here on only the last lines count."""
        self._head_left = 0

    def tail(self) -> list[str]:
        """The last lines, without those that went to the head."""
        return [line for line, _size in self._tail]


def gap_line(left_out: int) -> str:
    """The line that stands for those that were not kept."""
    return f"[... {left_out} lines left out ...]"


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1
