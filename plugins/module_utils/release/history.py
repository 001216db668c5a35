# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a journal says of the past: which releases were good here, in which order, and why one is not tried again.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .gate import INTERRUPTED
from .journal import Entry, first_failure, outcome, runs
from .states import (
    ABORTED,
    CHANGE,
    COMMITTED,
    FIRST_START,
    REMOVE,
    ROLLBACK,
    ROLLBACK_FAILED,
    ROLLED_BACK,
    START,
)

# The kinds that say something about their release; a rotation that failed says something about secrets.
_JUDGES_RELEASE = (FIRST_START, START, CHANGE, ROLLBACK)


@dataclass(frozen=True)
class PastRun:
    """One run of the past in short, with what it left."""

    run: str
    kind: str
    release: str | None
    previous: str | None
    at: str
    by: str
    why: str
    result: str | None
    reason: str = ""
    data: Mapping[str, Any] | None = None


def good_releases(entries: Sequence[Entry]) -> tuple[str, ...]:
    """The releases that were committed here and not left by a rollback, the one that is good now last.

    A rollback goes back down this row, so a second one never leads forward to what the first one has left.
    """
    row: list[str] = []
    for records in runs(entries):
        first = records[0]
        if outcome(records) != COMMITTED or not first.release:
            continue
        if first.kind == REMOVE:
            row = []
        elif first.kind == ROLLBACK:
            row = [*row[: row.index(first.release)], first.release] if first.release in row else [first.release]
        elif first.kind in _JUDGES_RELEASE and row[-1:] != [first.release]:
            row.append(first.release)
    return tuple(row)


def committed_releases(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Every release that was committed here since the last removal, oldest first: what a rollback may name."""
    found: list[str] = []
    for records in runs(entries):
        first = records[0]
        if outcome(records) == COMMITTED and first.kind == REMOVE:
            found = []
        elif outcome(records) == COMMITTED and first.kind in _JUDGES_RELEASE and first.release:
            found.append(first.release)
    return tuple(dict.fromkeys(found))


def way_down(entries: Sequence[Entry], current: str | None, last_good: str | None) -> str | None:
    """Where a rollback leads that names no release: the last good one, or the one before it where that one runs."""
    if last_good is not None and current != last_good:
        return last_good
    row = good_releases(entries)
    return row[-2] if len(row) > 1 and row[-1] == current else None


def failed_before(release: str | None, entries: Sequence[Entry]) -> str | None:
    """Why this very release is not tried again here: it went back the last time, or a rollback has left it.

    What was aborted was not tried. A start that was interrupted did not fail: by a reboot, or by whoever stopped it.
    """
    for records in reversed(runs(entries)):
        first = records[0]
        left = first.kind == ROLLBACK and first.data.get("previous") == release != first.release
        if left and outcome(records) == COMMITTED:
            why = f": {first.why}" if first.why else ""
            return f"{first.by or 'somebody'} went back from it with {first.run}{why}"
        if first.release == release and first.kind in _JUDGES_RELEASE and outcome(records) not in (None, ABORTED):
            return failure_of(records)
    return None


def failure_of(records: Sequence[Entry]) -> str | None:
    """Why a run was taken back, when that was its release's own doing."""
    failure = first_failure(records)
    if failure is None or outcome(records) not in (ROLLED_BACK, ROLLBACK_FAILED):
        return None
    if failure.data.get("verdict") in INTERRUPTED:
        return None
    return failure.message or "no reason was recorded"


def past_runs(entries: Sequence[Entry]) -> tuple[PastRun, ...]:
    """Every run, oldest first."""
    return tuple(_past(records) for records in runs(entries))


def _past(records: Sequence[Entry]) -> PastRun:
    first, end = records[0], outcome(records)
    failure = first_failure(records)
    reason = failure.message if failure else (records[-1].message if end not in (None, COMMITTED) else "")
    figures = dict(records[-1].data) if end == COMMITTED else {}
    previous = first.data.get("previous")
    return PastRun(first.run, first.kind, first.release, previous, first.at, first.by, first.why, end, reason, figures)
