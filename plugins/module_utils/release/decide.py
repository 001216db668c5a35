# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Decide which run brings a service to the state that was asked for, if any, and what forbids it.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..findings import WARNING, Finding
from .journal import opening
from .paths import Paths
from .plan import failed_before, playbook, retry_remedy
from .service_state import ServiceState
from .states import FIRST_START, REMOVE, START, STARTING_KINDS, STOP

STARTED, STOPPED, ABSENT = "started", "stopped", "absent"
KINDS = {STARTED: STARTING_KINDS, STOPPED: (STOP,), ABSENT: (REMOVE,)}


@dataclass(frozen=True)
class Decision:
    """A run to open (``kind``), one to follow (``follow``), a refusal (``refused``), or nothing to do (``reason``)."""

    kind: str | None = None
    release: str | None = None
    follow: str | None = None
    refused: str | None = None
    reason: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the host changes."""
        return self.kind is not None or self.follow is not None


def decide(wanted: str, release: str | None, state: ServiceState, *, retry: bool = False) -> Decision:
    """What ``wanted`` (started, stopped, absent) asks of a service in this state."""
    if state.journal_error:
        return Decision(refused=f"its journal {Paths(state.name).journal} cannot be read: {state.journal_error}")
    records = state.open_run
    if records:
        return _about_open_run(wanted, opening(records).kind, records[0].run, state)
    if state.frozen is not None:
        remedy = f"remove {Paths(state.name).freeze} on the host once the reason is gone"
        return Decision(refused=f"it is frozen ({state.frozen or 'no reason was given'}); {remedy}")
    if wanted == STARTED:
        return _start(release, state, retry)
    return _stop(state) if wanted == STOPPED else _remove(state)


def cut_by_reboot(state: ServiceState) -> bool:
    """Whether the open run is a start that the end of its boot cut off: all that is left to do is to take it back."""
    records = state.open_run
    return bool(records) and records[0].kind in STARTING_KINDS and state.run_of_this_boot != records[0].run


def _about_open_run(wanted: str, kind: str, run: str, state: ServiceState) -> Decision:
    if kind in KINDS[wanted]:
        first = state.open_run[0]
        told = f"the run {run}, begun by {first.by or 'unknown'}, is under way: following it to its end"
        return Decision(follow=run, release=first.release, reason=told)
    verb = "status" if state.driver_alive else "run"
    remedy = f"let it end first, on the host: vllm-host {verb} {state.name}"
    return Decision(refused=f"the run {run} has not ended, and it is no way to {wanted}; {remedy}")


def _start(release: str | None, state: ServiceState, retry: bool) -> Decision:
    if state.is_running:
        return _about_running(release, state)
    if state.last_good is None:
        return _first_start(release, state, retry)
    findings = () if release in (None, state.last_good) else (_differs(release, state),)
    return Decision(START, state.last_good, reason="it is down and was committed before", findings=findings)


def _about_running(release: str | None, state: ServiceState) -> Decision:
    if release in (None, state.current):
        return Decision(reason=f"it runs {state.current}")
    remedy = f"change it with: {playbook('upgrade', state.name)}"
    return Decision(refused=f"it runs {state.current}, the inventory wants {release}; {remedy}")


def _first_start(release: str | None, state: ServiceState, retry: bool) -> Decision:
    if release is None:
        return Decision(refused=f"it was never committed on this host; put it there with: {playbook('deploy')}")
    cause = failed_before(release, state)
    if cause is not None and not retry:
        return Decision(refused=f"{release} failed here and was taken back: {cause}; {retry_remedy(state.name)}")
    return Decision(FIRST_START, release, reason="it was never committed on this host")


def _stop(state: ServiceState) -> Decision:
    if not state.is_running and not state.containers:
        if state.stopped:
            return Decision(reason="it is stopped")
        if state.last_good is None:
            return Decision(reason="it was never committed on this host and does not run")
    return Decision(STOP, state.current, reason="it is not stopped for good")


def _remove(state: ServiceState) -> Decision:
    if not state.is_there:
        return Decision(reason="it is not on this host")
    return Decision(REMOVE, state.current, reason="it is on this host")


def _differs(release: str | None, state: ServiceState) -> Finding:
    return Finding(
        id="definition_differs",
        severity=WARNING,
        subject=state.name,
        message="was started as it was committed last; the inventory wants another release",
        expected=release,
        observed=state.last_good,
        remedy=playbook("upgrade", state.name),
    )
