# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""First of all: what the newest start said about itself, and what systemd, Docker and people did to the service.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import ERROR, INFO, WARNING, Finding
from ..release.ending import failure_text, how_it_went
from ..release.plan import playbook
from ..release.service_state import UnitState
from ..startup.finding import startup_finding
from .case import Case
from .model import SOURCE, Section, facts, unread_of

SOURCES = ("state", "start", "start-up log", "systemd journal", "rights")


def section(case: Case) -> Section:
    """The section."""
    state, start = case.state, case.start
    unit = state.unit if state else None
    said = case.said
    rows = facts(
        ("unit", _unit(unit) if unit else None, "systemctl show"),
        ("current release", state.current if state else None, "current"),
        ("last good release", state.last_good if state else None, "last_good"),
        ("newest start", start.get("seq"), "starts"),
        ("it began", start.get("begun_at"), "state.json"),
        ("how it went", how_it_went(start) if start else None, "state.json"),
        ("its log says", _verdict(said), "start-up log"),
        ("first error", said.get("first_error_line"), "start-up log"),
        ("earlier starts in the log", said.get("earlier_starts"), "start-up log"),
    )
    findings = tuple([*_of_the_log(case), *_of_the_service(case)])
    return Section("start", "What the start says", rows, findings, unread_of(case.unread, SOURCES))


def _unit(unit: UnitState) -> str:
    return "there is none" if unit.load == "not-found" else f"{unit.active} ({unit.sub})"


def _verdict(said: dict[str, object]) -> str | None:
    if not said:
        return None
    diagnosis = said.get("diagnosis")
    return f"{said.get('state') or 'unknown'}" + (f", {diagnosis}" if diagnosis not in (None, "none") else "")


def _of_the_log(case: Case) -> Iterator[Finding]:
    """The log's own diagnosis; where it has none, how the start ended by what the host saw."""
    found = startup_finding(case.startup, case.service) if case.startup else None
    if found is not None:
        yield found
    if case.start.get("fault") and not case.serves:
        yield Finding(
            id="start_ended",
            severity=WARNING if found is not None and found.severity == ERROR else ERROR,
            subject=f"{case.service} start {case.start.get('seq')}",
            message=failure_text(case.start),
            observed=case.start.get("ending"),
            remedy=f"on the host: vllm-host startup-log {case.service} --start {case.start.get('seq')} --log",
            source="docs/runbooks/endings.md",
        )


def _of_the_service(case: Case) -> Iterator[Finding]:
    state = case.state
    if state is None:
        return
    if not state.starts:
        yield Finding(
            "never_started",
            INFO,
            case.service,
            "was never started on this host",
            remedy=playbook("deploy"),
            source=SOURCE,
        )
    elif state.stopped:
        yield Finding(
            "stopped_on_purpose",
            INFO,
            case.service,
            "was stopped by a run, and stays stopped",
            remedy=playbook("start", case.service),
            source="docs/runbooks/stop-start.md",
        )
    elif not state.is_running and not list(_of_the_log(case)):
        yield Finding(
            "not_running",
            ERROR,
            case.service,
            "does not run",
            expected="active",
            observed=f"{state.unit.active} ({state.unit.sub})" if state.unit else "systemd does not answer",
            remedy=f"on the host: vllm-host status {case.service}; systemctl start vllm-{case.service}",
            source="docs/runbooks/stop-start.md",
        )
    for text in case.by_hand:
        what, _sign, undo = text.partition("; ")
        yield Finding("changed_by_hand", WARNING, case.service, what, remedy=undo, source="docs/runbooks/stop-start.md")
    if state.journal_error:
        yield Finding(
            "journal_torn",
            ERROR,
            case.service,
            f"the journal of its runs cannot be trusted: {state.journal_error}",
            remedy=f"look at /var/lib/gpuhosts-vllm/{case.service}/journal.jsonl",
            source=SOURCE,
        )
