# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A run as people and playbooks read it, made from its records.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from .journal import DONE, INTENT, Entry, first_failure, opening, outcome
from .states import ABORTED, COMMITTED, ROLLBACK_FAILED, ROLLED_BACK

RUNNING = "running"

_ENDS = {
    COMMITTED: "committed",
    ABORTED: "aborted before anything was touched",
    ROLLED_BACK: "failed and was taken back",
    ROLLBACK_FAILED: "failed, and taking it back failed too: look at the host",
}


def run_view(records: Sequence[Entry]) -> dict[str, Any]:
    """The run as plain data: who began it, each state with its outcome and seconds, and how it ended."""
    first = opening(records)
    return {
        "id": first.run,
        "kind": first.kind,
        "release": first.release,
        "by": first.by,
        "why": first.why,
        "at": first.at,
        "steps": _steps(records),
    }


def run_title(service: str, kind: str, release: str | None) -> str:
    """What a run is about: ``first start of chat (rel-0a1b2c3d4e5f)``."""
    return f"{kind.replace('_', ' ')} of {service}" + (f" ({release})" if release else "")


def run_summary(service: str, records: Sequence[Entry]) -> str:
    """The run in one sentence, with the first cause when it went wrong."""
    first = opening(records)
    what = run_title(service, first.kind, first.release)
    end = outcome(records)
    if end is None:
        return f"{what} is at {records[-1].state}"
    failure = first_failure(records)
    cause = (failure.message if failure else "") if end != COMMITTED else ""
    cause = cause or (records[-1].message if end != COMMITTED else "")
    return f"{what} {_ENDS[end]}" + (f": {cause}" if cause else "")


def step_line(entry: Entry) -> str | None:
    """The line that people read when a record is written; None for a record that says nothing new."""
    if entry.phase == INTENT:
        return None
    seconds = entry.data.get("took")
    took = f" ({seconds:.1f} s)" if seconds is not None else ""
    if entry.phase == DONE:
        return f"{entry.state}{took}" + (f": {entry.message}" if entry.message else "")
    return f"{entry.state} failed{took}: {entry.message}"


def _steps(records: Sequence[Entry]) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    begun: dict[str, str] = {}
    for entry in records:
        if entry.phase == INTENT:
            begun[entry.state] = entry.at
        if steps and steps[-1]["state"] == entry.state and steps[-1]["outcome"] == RUNNING:
            steps.pop()
        steps.append(
            {
                "state": entry.state,
                "outcome": RUNNING if entry.phase == INTENT else entry.phase,
                "message": entry.message,
                "at": entry.at,
                "seconds": _seconds(begun.get(entry.state), entry.at),
            }
        )
    return steps


def _seconds(begun: str | None, ended: str) -> float | None:
    if begun is None:
        return None
    return round((_time(ended) - _time(begun)).total_seconds(), 3)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
