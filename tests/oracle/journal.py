# SPDX-License-Identifier: Apache-2.0
"""Whether the journal of a service tells runs that can have happened, the last of them to its end."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

START = ["staged", "preflighted", "switched", "starting", "verifying", "soaking", "committed"]
STOP = ["staged", "preflighted", "draining", "stopped", "committed"]
WHOLE = [*STOP[:-1], *START[2:]]
PATHS = {
    **{"first_start": START, "start": START, "stop": STOP, "remove": STOP},
    **{"change": WHOLE, "rollback": WHOLE, "rotate": WHOLE},
}
BEFORE_ANYTHING_STOPPED = {"staged", "preflighted", "draining"}
ENDS = {"committed", "aborted", "rolled_back", "rollback_failed"}
# How going back went, and the first record of the end that follows: giving up stops the unit, so it has an intent.
HOW_IT_WENT = {"rolled_back": ("done", "done"), "rollback_failed": ("failed", "intent")}
GOES_BACK = {*HOW_IT_WENT, "rolling_back"}
PHASES = {"intent", "done", "failed"}


def judge(text: str | None, *, open_run: str | None = None) -> list[str]:
    """Say what is wrong; ``open_run`` is the id of a run that is under way on purpose."""
    if text is None:  # a service that was staged and never started
        return []
    found, records = _parse(text)
    runs = [(run, list(each)) for run, each in groupby(records, key=lambda record: record["run"])]
    ids = [run for run, _records in runs]
    found += [f"journal: run {run} goes on after another one began" for run in sorted(set(ids)) if ids.count(run) > 1]
    for run, each in runs:
        found += [f"journal: run {run}: {line}" for line in _judge_run(each)]
        if not _ended(each) and run != open_run:
            last = each[-1]
            found.append(f"journal: run {run} has no end, its last record is {last['state']} {last['phase']}")
    if open_run is not None and (not runs or runs[-1][0] != open_run or _ended(runs[-1][1])):
        found.append(f"journal: the open run {open_run} is not the last one, or has ended")
    return found


def _parse(text: str) -> tuple[list[str], list[dict[str, Any]]]:
    found, records = [], []
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        try:
            record = json.loads(line)
            known = PATHS[record["kind"]] and record["phase"] in PHASES and record["at"] and record["run"]
            if not known or record["state"] not in {*PATHS[record["kind"]], *ENDS, "rolling_back"}:
                raise ValueError("an unknown phase or state")
            records.append(record)
        except (ValueError, KeyError, TypeError) as error:
            found.append(f"journal: line {number} is not a record ({error!r}): {line[:80]!r}")
    if not text.endswith("\n"):
        found.append("journal: its last line has no end")
    return found, records


def _ended(records: list[dict[str, Any]]) -> bool:
    return records[-1]["state"] in ENDS and records[-1]["phase"] == "done"


def _judge_run(records: list[dict[str, Any]]) -> list[str]:
    found = []
    first, steps = records[0], [(record["state"], record["phase"]) for record in records]
    if steps[0] != ("staged", "done"):
        found.append(f"begins with {steps[0][0]} {steps[0][1]}")
    if len({record["kind"] for record in records}) > 1:
        found.append("changes its kind")
    kind = first["kind"]
    for number, (earlier, later) in enumerate(zip(steps, steps[1:])):
        if kind == "rollback" and later == ("starting", "intent") and _proves(earlier):
            continue  # the host restarted: what is proven then is another start
        if not (_gives_up if kind == "rollback" and later[0] in GOES_BACK else _follows)(PATHS[kind], earlier, later):
            found.append(f"{' '.join(later)} cannot follow {' '.join(earlier)} (record {number + 2})")
    return found


def _proves(step: tuple[str, str]) -> bool:
    return step == ("starting", "done") or (step[0] in {"verifying", "soaking"} and step[1] != "failed")


def _follows(path: list[str], earlier: tuple[str, str], later: tuple[str, str]) -> bool:
    """Whether one record can follow another; a driver that was killed begins its step again, or takes the run back."""
    (before, phase), (after, next_phase) = earlier, later
    if after == before:
        return phase == "intent"
    if after in HOW_IT_WENT:
        return before == "rolling_back" and (phase, next_phase) == HOW_IT_WENT[after]
    if after == "aborted":
        return before in BEFORE_ANYTHING_STOPPED and next_phase == "done"
    return next_phase == "intent" and before in path and _may_begin(path, before, phase, after)


def _gives_up(path: list[str], earlier: tuple[str, str], later: tuple[str, str]) -> bool:
    """Whether a rollback that failed may end so: it is never rolled back, and gives up at once."""
    (before, phase), (after, next_phase) = earlier, later
    if before == after:
        return phase == "intent"
    stopped_something = before in path and before not in BEFORE_ANYTHING_STOPPED
    return after == "rollback_failed" and (phase, next_phase) == ("failed", "intent") and stopped_something


def _may_begin(path: list[str], before: str, phase: str, after: str) -> bool:
    """Whether a step can begin; a start of what was committed before boots by itself when a reboot cuts it off."""
    stopped_something = before not in BEFORE_ANYTHING_STOPPED and (before, phase) != ("committed", "done")
    if after == "rolling_back":
        return stopped_something
    if after == "committed" and "switched" in path and stopped_something and phase != "failed":
        return True
    return phase == "done" and path.index(after) == path.index(before) + 1
