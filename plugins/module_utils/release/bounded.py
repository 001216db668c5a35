# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Keep the beginning and the end of a text that may have any length.

Private to the collection.
"""

from __future__ import annotations

from collections import deque

HEAD_BYTES = 512 * 1024
TAIL_BYTES = 256 * 1024


class HeadTail:
    """Takes lines; keeps the first and the last of them, and says how many it left out."""

    def __init__(self, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._head_left = head_bytes
        self._tail_left = tail_bytes
        self._tail_bytes = tail_bytes
        self.left_out = 0

    def add(self, line: str) -> None:
        """Take the next line; one that is longer than the whole tail is cut."""
        size = len(line) + 1
        if not self._tail and not self.left_out and size <= self._head_left:
            self._head.append(line)
            self._head_left -= size
            return
        line = line[: self._tail_bytes - 1]
        self._tail.append(line)
        self._tail_left -= len(line) + 1
        while self._tail_left < 0:
            self._tail_left += len(self._tail.popleft()) + 1
            self.left_out += 1

    def text(self) -> str:
        """What was kept, with a line in between that says what was not."""
        gap = [f"[... {self.left_out} lines left out ...]"] if self.left_out else []
        return "".join(line + "\n" for line in [*self._head, *gap, *self._tail])
