# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The journal of a service: one JSON line a record, read and written here, appended elsewhere.

A record is torn when the host died while it was written. Only the last one can be; it is dropped.
Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .states import PATHS, ROLLBACK_FAILED, STAGED, TERMINAL, legal_states

INTENT = "intent"
DONE = "done"
FAILED = "failed"
PHASES = (INTENT, DONE, FAILED)

# Records without a schema are of the first one. A tool reads its own schema and older ones.
SCHEMA = 2


class JournalError(ValueError):
    """A journal that cannot be trusted: torn in the middle, or with a record that is none."""


class NewerJournal(JournalError):
    """A journal that a newer tool has written: this one would not know what it leaves out."""


@dataclass(frozen=True)
class Entry:
    """One record: what was about to happen (intent), or what came of it (done, failed)."""

    at: str
    run: str
    kind: str
    state: str
    phase: str
    release: str | None = None
    by: str = ""
    why: str = ""
    message: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Journal:
    """All records, and whether the last line was torn and has to be cut off before the next append."""

    entries: tuple[Entry, ...] = ()
    good_bytes: int = 0
    torn: bool = False


def format_entry(entry: Entry) -> str:
    """Write a record as one line; fields that say nothing are left out."""
    fields: dict[str, Any] = {"schema": SCHEMA, "at": entry.at, "run": entry.run, "kind": entry.kind}
    fields.update({"state": entry.state, "phase": entry.phase, "release": entry.release or ""})
    optional = {"by": entry.by, "why": entry.why, "message": entry.message, "data": dict(entry.data)}
    return json.dumps({**fields, **{key: value for key, value in optional.items() if value}}, sort_keys=False) + "\n"


def parse_journal(raw: bytes) -> Journal:
    """Read a journal; JournalError names the line when another one than the last is torn."""
    lines = raw.splitlines(keepends=True)
    entries: list[Entry] = []
    good = 0
    for number, line in enumerate(lines, start=1):
        try:
            if not line.endswith(b"\n"):
                raise ValueError("no line end")
            entries.append(_entry(json.loads(line.decode("utf-8"))))
        except NewerJournal as error:
            raise NewerJournal(f"line {number} of the journal {error}") from None
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines) and not line.endswith(b"\n"):
                return Journal(tuple(entries), good, torn=True)
            raise JournalError(f"line {number} of the journal is not a record: {error}") from None
        good += len(line)
    return Journal(tuple(entries), good)


def run_entries(entries: Sequence[Entry], run: str) -> tuple[Entry, ...]:
    """The records of one run, in order."""
    return tuple(entry for entry in entries if entry.run == run)


def runs(entries: Sequence[Entry]) -> tuple[tuple[Entry, ...], ...]:
    """The records of every run, oldest run first."""
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.run, []).append(entry)
    return tuple(tuple(records) for records in found.values())


def last_run(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The records of the newest run; empty when there was none."""
    return run_entries(entries, entries[-1].run) if entries else ()


def open_run(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The records of a run that has not ended; empty when all have. Only the newest can be open."""
    records = last_run(entries)
    return () if outcome(records) else records


def outcome(records: Sequence[Entry]) -> str | None:
    """How a run ended, or None while it has not. To give up ends a run also where not all of it could be done."""
    if not records:
        return None
    last = records[-1]
    ended = last.state in TERMINAL and (last.phase == DONE or (last.state, last.phase) == (ROLLBACK_FAILED, FAILED))
    return last.state if ended else None


def first_failure(records: Sequence[Entry]) -> Entry | None:
    """The record that says why a run went wrong: the first failure, not what followed from it."""
    return next((entry for entry in records if entry.phase == FAILED), None)


def opening(records: Sequence[Entry]) -> Entry:
    """The record that opened a run; JournalError when the journal does not have it."""
    if not records or records[0].state != STAGED:
        raise JournalError("the journal has no beginning of this run")
    return records[0]


def _entry(data: Any) -> Entry:
    if not isinstance(data, dict):
        raise TypeError("not a map")
    schema = data.pop("schema", 1)
    if isinstance(schema, int) and schema > SCHEMA:
        tool = "a newer vllm-host has written it: install the collection that it came with, with deploy"
        raise NewerJournal(f"has schema {schema}, this tool reads up to {SCHEMA}; {tool}")
    entry = Entry(**{**data, "release": data.get("release") or None})
    if entry.kind not in PATHS or entry.phase not in PHASES or entry.state not in legal_states(entry.kind):
        raise ValueError(f"{entry.kind}, {entry.state}, {entry.phase} is no step of a run")
    return entry
