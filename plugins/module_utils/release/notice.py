# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which records of a run somebody outside is told of, and the text that tells it.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .journal import DONE, FAILED, Entry, first_failure, opening
from .plan import way_on
from .states import ROLLBACK_FAILED, ROLLED_BACK, SOAKING, STARTING, VERIFYING

GATE_FAILED = "gate_failed"
MOST_BYTES = 16 << 10
_GATE = (STARTING, VERIFYING, SOAKING)
_SHORTEST = 64


def event_of(entry: Entry) -> str | None:
    """The event that a record is: a gate that failed, a run that went back, one that could not; None for all else."""
    if entry.phase == FAILED and entry.state in _GATE:
        return GATE_FAILED
    if entry.phase == DONE and entry.state in (ROLLED_BACK, ROLLBACK_FAILED):
        return entry.state
    return None


def notice(event: str, host: str, service: str, records: Sequence[Entry]) -> dict[str, Any]:
    """What is told, as plain data."""
    first, last = opening(records), records[-1]
    failure = first_failure(records)
    ends = event in (ROLLED_BACK, ROLLBACK_FAILED)
    return {
        "event": event,
        "host": host,
        "service": service,
        "run": first.run,
        "kind": first.kind,
        "release": first.release,
        "way_back": first.data.get("way_back"),
        "state": last.state,
        "reason": failure.message if failure else last.message,
        "at": last.at,
        "by": first.by,
        "next": way_on(service, records) if ends else f"on the host: vllm-host status {service}",
    }


def notice_text(data: Mapping[str, Any], most: int = MOST_BYTES) -> str:
    """One JSON object of so many bytes at most; what is too long is cut, the longest text first."""
    told = dict(data)
    text = json.dumps(told)
    while len(text) > most:
        key = max((name for name in told if isinstance(told[name], str)), key=lambda name: len(json.dumps(told[name])))
        if len(told[key]) <= _SHORTEST:
            break
        told[key] = told[key][: max(len(told[key]) // 2, _SHORTEST)] + "…"
        text = json.dumps(told)
    return text
