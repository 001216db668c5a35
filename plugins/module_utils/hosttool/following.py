# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Begin a run and watch it through its journal; the run itself needs nobody who watches.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable

from ..findings import Finding
from ..io import starts, systemd
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.diagnoses import diagnosis
from ..io.files import is_locked, read_if_there
from ..io.journals import read_journal
from ..release.gate import INTERRUPTED
from ..release.journal import Entry, first_failure, opening, outcome, run_entries
from ..release.paths import Paths
from ..release.plan import way_on
from ..release.states import (
    ABORTED,
    COMMITTED,
    GATED_KINDS,
    REMOVE,
    REPLACING_KINDS,
    ROLLBACK_FAILED,
    ROLLED_BACK,
    STARTING,
    STARTING_KINDS,
)
from ..release.view import run_summary, run_title, run_view, step_line
from ..release.why import why_lines
from .confirming import awaits_confirmation
from .errors import ToolError
from .opening import start_driver

_LOOK = 0.2


def watch(paths: Paths, run_id: str, wait: float, *, clock: Clock = CLOCK, runner: Runner = run) -> dict[str, Any]:
    """Wait for the end of a run or until it waits for a word, ``wait`` seconds at most.

    A driver that died is replaced once.
    """
    ends = clock.monotonic() + wait
    return _watch(paths, run_id, lambda _records: clock.monotonic() >= ends, clock, runner)


def watch_for_failure(
    paths: Paths, run_id: str, wait: float, *, clock: Clock = CLOCK, runner: Runner = run
) -> dict[str, Any]:
    """Wait as ``watch`` does, and no longer than until a step has failed.

    People shall not learn of a failure when all has been taken back.
    """
    ends = clock.monotonic() + wait

    def enough(records: Sequence[Entry]) -> bool:
        return clock.monotonic() >= ends or _tells_a_failure(paths, records)

    return _watch(paths, run_id, enough, clock, runner)


def _watch(
    paths: Paths, run_id: str, enough: Callable[[Sequence[Entry]], bool], clock: Clock, runner: Runner
) -> dict[str, Any]:
    replaced = False
    while True:
        records = _records(paths, run_id)
        if outcome(records) is not None or awaits_confirmation(paths, run_id) or enough(records):
            return result_of(paths, records)
        if not replaced and not is_driven(paths, runner):
            start_driver(paths, runner=runner, clock=clock)
            replaced = True
        clock.sleep(_LOOK)


def result_of(paths: Paths, records: Sequence[Entry]) -> dict[str, Any]:
    """A run as the module returns it."""
    end = outcome(records)
    why = _why(paths, records) if end not in (None, COMMITTED) else None
    return {
        "changed": end != ABORTED,
        "release": records[0].release,
        "actions": [run_title(paths.service, records[0].kind, records[0].release)],
        "run": run_view(records),
        "finished": end is not None,
        "awaits_confirm": end is None and awaits_confirmation(paths, records[0].run),
        "follow": records[0].run,
        "result": end,
        "step_failed": _tells_a_failure(paths, records),
        "progress": _progress(paths, records),
        "summary": run_summary(paths.service, records),
        "next": way_on(paths.service, records) if end not in (None, COMMITTED) else "",
        "start": _start(paths, records),
        "findings": [*_findings(records), *([why.to_dict()] if why else [])],
        "why": why_lines(why) if why else [],
        "diff": _diff(records, end),
    }


def _records(paths: Paths, run_id: str) -> tuple[Entry, ...]:
    records = run_entries(read_journal(paths).entries, run_id)
    if not records:
        look = f"vllm-host show {paths.service} journal"
        raise ToolError(f"{paths.service}: the journal knows no run {run_id!r}; see {look}")
    return records


def is_driven(paths: Paths, runner: Runner) -> bool:
    """Whether anybody drives the open run of a service, or is about to."""
    if is_locked(paths.lease):
        return True
    unit = systemd.show(paths.driver_unit, runner=runner)
    return unit is not None and unit.is_running


def _progress(paths: Paths, records: Sequence[Entry]) -> list[str]:
    """The lines of the run that this boot still has; after a reboot the journal has the steps at least."""
    text = read_if_there(paths.progress)
    if (read_if_there(paths.open_run) or "").strip() in (records[0].run, "") and text:
        return text.splitlines()
    return [line for line in map(step_line, records[1:]) if line]


def _tells_a_failure(paths: Paths, records: Sequence[Entry]) -> bool:
    failure = first_failure(records)
    return failure is not None and step_line(failure) in _progress(paths, records)


def _start(paths: Paths, records: Sequence[Entry]) -> dict[str, Any]:
    """What is known of the run's start; empty when there was none."""
    found = [entry.data for entry in records if entry.state == STARTING and entry.data.get("seq")]
    if not found:
        return {}
    seq = int(found[-1]["seq"])
    known = starts.read(paths, seq)
    names = ("invocation_id", "container_id", "reason", "first_error", "exit_code", "oom_killed")
    figures = {key: starts.startup(paths, seq).get(key) for key in ("kv_cache_tokens_usable", "max_concurrency")}
    facts = {**{name: known.get(name) for name in names}, **figures}
    return {
        "seq": seq,
        "seconds": known.get("ready_seconds"),
        **{key: value for key, value in facts.items() if value is not None},
    }


def _why(paths: Paths, records: Sequence[Entry]) -> Finding | None:
    """What the log of the run's start says of its failure; of one that was interrupted it says nothing."""
    started = [entry.data for entry in records if entry.state == STARTING and entry.data.get("seq")]
    if not started or started[-1].get("verdict") in INTERRUPTED:
        return None
    return diagnosis(paths, int(started[-1]["seq"]))


def _findings(records: Sequence[Entry]) -> list[dict[str, Any]]:
    found = [entry.data["findings"] for entry in records if entry.data.get("findings")]
    return list(found[-1]) if found else []


def _diff(records: Sequence[Entry], end: str | None) -> dict[str, str]:
    first = opening(records)
    previous = first.data.get("previous")
    runs = first.kind in GATED_KINDS
    was_down = first.kind in STARTING_KINDS or first.data.get("was_running") is False
    before = state_text(previous, "stopped" if was_down else "running")
    if end == ROLLBACK_FAILED:
        return {"before": before, "after": state_text(first.data.get("way_back"), "stopped")}
    if end == ROLLED_BACK and first.kind in REPLACING_KINDS:
        return {"before": before, "after": state_text(first.data.get("way_back"), "stopped" if was_down else "running")}
    if end != COMMITTED:
        return {"before": before, "after": before}
    current = None if first.kind == REMOVE else first.release
    return {"before": before, "after": state_text(current, "running" if runs else "stopped")}


def state_text(release: str | None, how: str) -> str:
    """A service in two lines, for differences."""
    return f"current: {release or 'none'}\nservice: {how}\n"
