# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How much of a start is kept, and for how long: all limits of the evidence, in one place.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .ending import first_failed_start
from .service_state import StartState

# Of a log that is longer, its beginning (the start-up, which matters most) and its end are kept. All of a start-up of
# 100,000 lines has room in the beginning.
HEAD_BYTES = 16 << 20
TAIL_BYTES = 4 << 20
# A kept log that is larger is compressed: most are a few thousand lines, which any program can read as they are.
COMPRESS_FROM = 1 << 20
# Of one service. Evidence is small, but a service may be started for years, and crash for nights.
KEPT_STARTS = 50
KEPT_BYTES = 200 << 20


def to_let_go(starts: Sequence[StartState], sizes: Mapping[int, int]) -> list[int]:
    """The starts whose evidence goes before one more begins, oldest first; ``sizes`` are bytes by number.

    Of a row of failures the first one says why, so it outlives the rest of its row. Never go: the newest start, the
    first failure of the newest row, and the newest start that served, which the next ones are measured by.
    """
    stay = set(_to_stay(starts))
    count, size = len(starts) + 1, sum(sizes.values())
    gone = []
    for seq in _in_order(starts):
        if count <= KEPT_STARTS and size <= KEPT_BYTES:
            break
        if seq not in stay:
            gone.append(seq)
            count, size = count - 1, size - sizes.get(seq, 0)
    return gone


def _to_stay(starts: Sequence[StartState]) -> Iterator[int]:
    first = first_failed_start(starts)
    served = next((start for start in reversed(starts) if start.data.get("ready")), None)
    return (start.seq for start in (*starts[-1:], first, served) if start)


def _in_order(starts: Sequence[StartState]) -> Iterator[int]:
    """Oldest first, but for the first failure of each row, which comes behind the others of its row."""
    first: int | None = None
    for index, start in enumerate(starts):
        row = first_failed_start(starts[: index + 1]) if "ending" in start.data else None
        if first is not None and "ending" in start.data and (row is None or row.seq != first):
            yield first
            first = None
        if row is not None and row.seq == start.seq:
            first = start.seq
        else:
            yield start.seq
    if first is not None:
        yield first
