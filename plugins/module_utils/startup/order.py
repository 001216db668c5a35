# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which way a log runs: viewers show the newest line first.

Private to the collection.
"""

from __future__ import annotations

from collections import deque

from . import phases, signs
from .record import Record
from .story import header

_HEADERS = {"version": -4, "banner": -3, "args": -2}  # before all milestones
_HEAD, _TAIL, _HELD = 1500, 500, 2048  # lines, lines, bytes of each


class Order:
    """Which way the log runs; the first and the last lines, to read them the other way round."""

    def __init__(self) -> None:
        self.later = self.earlier = self.upwards = self.downwards = 0
        self._stamp = ""
        self._frame = False
        self._rank = -1
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque(maxlen=_TAIL)

    def note(self, line: bytes, record: Record) -> None:
        """Take the next line."""
        (self._head if len(self._head) < _HEAD else self._tail).append(line[:_HELD])
        if record.stamp and self._stamp and record.stamp != self._stamp:
            self.later += record.stamp > self._stamp
            self.earlier += record.stamp < self._stamp
        self._stamp = record.stamp or self._stamp
        if signs.TRACEBACK in record.text:
            self.upwards += self._frame
            self.downwards += not self._frame
        self._frame = record.is_frame
        self._note_milestone(record)

    def _note_milestone(self, record: Record) -> None:
        """Headers and milestones have an order; engines that start side by side repeat it, and prove nothing."""
        name = header(record.text)
        rank = _HEADERS.get(name or "") or phases.RANK.get(phases.milestone(record.text) or "", -1)
        if rank == -1:
            return
        if self._rank not in (-1, rank):
            self.upwards += rank < self._rank
            self.downwards += rank > self._rank
        self._rank = rank

    @property
    def newest_first(self) -> bool:
        """Whether the newest line stands first, as some viewers show a log."""
        up, down = self.earlier + self.upwards, self.later + self.downwards
        return up > 2 * down + 1 or (self.upwards > 0 and down == 0)

    def turned(self) -> list[bytes]:
        """The lines, oldest first."""
        return [*self._head, *self._tail][::-1]
