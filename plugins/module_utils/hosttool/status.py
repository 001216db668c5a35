# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host status``: what runs, since when, and how the last run ended.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..findings import finding_from_dict
from ..io.diagnoses import diagnosis
from ..io.files import read_if_there
from ..io.observe import observe
from ..io.readers import may_ask_docker
from ..release.by_hand import by_hand
from ..release.ending import failure_text, first_failed_start, how_it_went
from ..release.history import failed_before, way_down
from ..release.journal import last_run, outcome
from ..release.paths import Paths
from ..release.plan import playbook, way_on
from ..release.service_state import ServiceState
from ..release.states import ROLLBACK_FAILED
from ..release.view import run_summary, run_view
from ..release.why import why_lines
from .confirming import awaits_confirmation
from .say import say
from .service_args import parser, readable_paths

NO_ANSWER = "Docker does not answer"
NOT_ALLOWED = "Docker was not asked, that is for root and the group docker"


def main(argv: Sequence[str]) -> int:
    """The verb; 0 when the service runs what was committed last, else 1."""
    arguments = parser("status", "say what runs, since when, and how the last run ended")
    arguments.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    args = arguments.parse_args(argv)
    paths = readable_paths(args.service)
    state = observe(paths)
    data = status_of(paths, state)
    say(json.dumps(data, indent=2) if args.json else "\n".join(status_lines(paths, state, data)))
    return 0 if data["serves_committed"] else 1


def status_of(paths: Paths, state: ServiceState) -> dict[str, Any]:
    """The state as plain data; of a row of failures its first one is diagnosed."""
    records = last_run(state.entries)
    last_start = state.starts[-1].data if state.starts else {}
    first = None if state.is_serving else first_failed_start(state.starts)
    finding = diagnosis(paths, first.seq) if first else None
    return {
        "service": state.name,
        "unit": None if state.unit is None else {"active": state.unit.active, "sub": state.unit.sub},
        "status_text": state.unit.status_text if state.unit and state.is_running and not state.unit.waits else "",
        "current": state.current,
        "last_good": state.last_good,
        "stopped": state.stopped,
        "frozen": state.frozen,
        "journal_error": state.journal_error,
        "containers": None if state.containers is None else list(state.containers),
        "last_start": dict(last_start),
        "first_failure": dict(first.data) if first else None,
        "diagnosis": finding.to_dict() if finding else None,
        "last_run": {**run_view(records), "outcome": outcome(records)} if records else None,
        "driver_alive": state.driver_alive,
        "awaits_confirm": bool(records) and awaits_confirmation(paths, records[0].run),
        "goes_back_to": way_down(state.entries, state.current, state.last_good),
        "quarantined": _quarantined(state),
        "serves_committed": bool(state.is_running and state.current and state.current == state.last_good),
    }


def _quarantined(state: ServiceState) -> dict[str, str]:
    """The releases that are not tried again here without a word, each with the reason."""
    tried = dict.fromkeys(entry.release for entry in state.entries if entry.release)
    return {name: why for name in tried if (why := failed_before(name, state.entries))}


def status_lines(paths: Paths, state: ServiceState, data: dict[str, Any]) -> list[str]:
    """The same for people."""
    unit = "systemd does not answer" if state.unit is None else f"{state.unit.active} ({state.unit.sub})"
    lines = [f"{state.name}: {unit}" + (f" - {data['status_text']}" if data["status_text"] else "")]
    lines.append(f"  current    {state.current or '-'}")
    lines.append(f"  last good  {state.last_good or '-'}")
    lines += [_stopped_line(paths)] if state.stopped else []
    lines += [f"  by hand    {each.text}" for each in by_hand(state)]
    lines += [f"  frozen     {state.frozen or 'no reason was given'}"] if state.frozen is not None else []
    lines += [f"  journal    {state.journal_error}"] if state.journal_error else []
    start = data["last_start"]
    if state.containers is None:
        known = f"{str(start['container_id'])[:12]} by the last start's record; " if start.get("container_id") else ""
        lines.append(f"  container  {known}{NO_ANSWER if may_ask_docker() else NOT_ALLOWED}")
    lines += [f"  start {start['seq']}    {start.get('begun_at', '')}: {how_it_went(start)}"] if start else []
    first = data["first_failure"]
    if first and first.get("seq") != start.get("seq"):
        lines.append(
            f"  failed first at start {first['seq']}: {failure_text(first)}; "
            f"its log: vllm-host startup-log {state.name} --start {first['seq']} --log"
        )
    if data["diagnosis"]:
        lines += [f"    {line}" for line in why_lines(finding_from_dict(data["diagnosis"]))]
    records = last_run(state.entries)
    lines += [f"  last run   {run_summary(state.name, records)}"] if records else []
    lines += _change_lines(paths, state, data)
    if state.open_run and not state.driver_alive:
        lines.append(f"  its driver is gone; let the run end: vllm-host run {state.name}")
    return lines


def _change_lines(paths: Paths, state: ServiceState, data: dict[str, Any]) -> list[str]:
    """What a human may want to do about a change: give the word, look at both logs, know where a rollback leads."""
    lines = []
    if data["awaits_confirm"]:
        lines.append(f"  waits for the word: vllm-host confirm {state.name} (without it, it goes back)")
    if data["last_run"] and data["last_run"]["outcome"] == ROLLBACK_FAILED:
        lines.append(f"  {state.entries[-1].message}")
        lines.append(f"  next: {way_on(state.name, last_run(state.entries))}")
    lines += [f"  quarantined {name}: {why}" for name, why in data["quarantined"].items()]
    lines += [f"  a rollback leads to {data['goes_back_to']}"] if data["goes_back_to"] else []
    return lines


def _stopped_line(paths: Paths) -> str:
    """Why nothing but the playbook starts it: systemctl start does nothing here and says nothing."""
    said = (read_if_there(paths.stopped) or "").strip() or "nobody said by whom"
    back = f"only {playbook('start', paths.service)} starts it again, systemctl start does not"
    return f"  stopped    {said}; {back} while {paths.stopped} is there"
