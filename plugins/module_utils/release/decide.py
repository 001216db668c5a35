# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Decide which run brings a service to the state that was asked for, if any, and what forbids it.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..findings import WARNING, Finding
from .history import committed_releases, failed_before, way_down
from .journal import opening
from .machine import is_bound_to_boot
from .paths import Paths
from .plan import playbook, retry_remedy
from .service_state import ServiceState
from .states import CHANGE, FIRST_START, REMOVE, ROLLBACK, ROLLBACK_FAILED, ROTATE, START, STARTING_KINDS, STOP

STARTED, STOPPED, ABSENT = "started", "stopped", "absent"
UPGRADED, ROLLED_BACK, ROTATED = "upgraded", "rolled_back", "rotated"
KINDS = {
    STARTED: STARTING_KINDS,
    STOPPED: (STOP,),
    ABSENT: (REMOVE,),
    UPGRADED: (CHANGE,),
    ROLLED_BACK: (ROLLBACK,),
    ROTATED: (ROTATE,),
}


@dataclass(frozen=True)
class Decision:
    """A run to open (``kind``), one to follow (``follow``), a refusal (``refused``), or nothing to do (``reason``).

    ``cancels``: the run to follow is told to go back first.
    """

    kind: str | None = None
    release: str | None = None
    follow: str | None = None
    cancels: bool = False
    refused: str | None = None
    reason: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def changes(self) -> bool:
        """Whether the host changes."""
        return self.kind is not None or self.follow is not None


def decide(wanted: str, release: str | None, state: ServiceState, *, retry: bool = False) -> Decision:
    """What ``wanted`` (started, upgraded, rolled_back, rotated, stopped, absent) asks of a service in this state.

    ``release`` is the one that the inventory wants; for ``rolled_back`` the one to go back to, None for the last good.
    """
    if state.journal_error:
        return Decision(refused=f"its journal {Paths(state.name).journal} cannot be read: {state.journal_error}")
    records = state.open_run
    if records:
        return _about_open_run(wanted, release, state)
    if state.frozen is not None:
        remedy = f"once the reason is gone: {playbook('unfreeze', state.name)}"
        return Decision(refused=f"it is frozen ({state.frozen or 'no reason was given'}); {remedy}")
    if wanted in (STARTED, UPGRADED):
        return (_start if wanted == STARTED else _upgrade)(release, state, retry)
    if wanted == ROLLED_BACK:
        return _go_back(release, state)
    return {ROTATED: _rotate, STOPPED: _stop, ABSENT: _remove}[wanted](state)


def cut_by_reboot(state: ServiceState) -> bool:
    """Whether the open run is one that the end of its boot cut off: all that is left to do is to take it back."""
    records = state.open_run
    return bool(records) and is_bound_to_boot(records[0].kind) and state.run_of_this_boot != records[0].run


def _about_open_run(wanted: str, release: str | None, state: ServiceState) -> Decision:
    """One of the same kind is followed; a change that a human wants back is told so; all else has to wait."""
    first = opening(state.open_run)
    run = first.run
    if first.kind in KINDS[wanted]:
        told = f"the run {run}, begun by {first.by or 'unknown'}, is under way: following it to its end"
        return Decision(follow=run, release=first.release, reason=told)
    way_back = first.data.get("way_back")
    if wanted == ROLLED_BACK and first.kind == CHANGE and release in (None, way_back):
        told = f"the run {run}, begun by {first.by or 'unknown'}, is under way: it is told to go back to {way_back}"
        return Decision(follow=run, release=way_back, cancels=True, reason=told)
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
    cause = failed_before(release, state.entries)
    if cause is not None and not retry:
        return Decision(refused=f"{release} failed here and was taken back: {cause}; {retry_remedy(state.name)}")
    return Decision(FIRST_START, release, reason="it was never committed on this host")


def _upgrade(release: str | None, state: ServiceState, retry: bool) -> Decision:
    """From what was committed here to what the inventory wants; also of one that is down because it failed."""
    if state.last_good is None:
        return Decision(refused=f"it was never committed on this host; put it there with: {playbook('deploy')}")
    if release in (None, state.last_good):
        if state.is_running or not state.stopped:
            return Decision(reason=f"it runs {state.current}" if state.is_running else f"it has {state.last_good}")
        return Decision(refused=f"it is stopped, with the release that is wanted; {playbook('start', state.name)}")
    if state.stopped and not _gave_up(state):
        remedy = f"start it first: {playbook('start', state.name)}"
        return Decision(refused=f"somebody stopped it, and an upgrade would start it; {remedy}")
    cause = failed_before(release, state.entries)
    if cause is not None and not retry:
        return Decision(refused=f"{release} went back here: {cause}; {retry_remedy(state.name, first=False)}")
    return Decision(CHANGE, release, reason=f"it has {state.current}, the inventory wants {release}")


def _gave_up(state: ServiceState) -> bool:
    """Whether it is down because its last run could not even go back."""
    return bool(state.entries) and state.entries[-1].state == ROLLBACK_FAILED


def _go_back(release: str | None, state: ServiceState) -> Decision:
    """To a release that was committed here before; a rollback that cannot act is refused, never silent."""
    known = committed_releases(state.entries)
    target = release or way_down(state.entries, state.current, state.last_good)
    others = [name for name in known if name != state.current]
    name_one = f"name one with -e vllm_release=REL: {', '.join(others)}" if others else "none was ever committed here"
    if target is None:
        return Decision(refused=f"there is no release to go back to from {state.current or 'nothing'}; {name_one}")
    if target not in known:
        return Decision(refused=f"{target} was never committed on this host; {name_one}")
    if target == state.current and state.is_serving:
        return Decision(refused=f"it runs {target} already, so there is nothing to go back from; {name_one}")
    return Decision(ROLLBACK, target, reason=f"from {state.current or 'nothing'} back to {target}")


def _rotate(state: ServiceState) -> Decision:
    if state.last_good is None:
        return Decision(refused=f"it was never committed on this host; put it there with: {playbook('deploy')}")
    if not state.is_running:
        return Decision(refused=f"it does not run: write the secrets with deploy, then {playbook('start', state.name)}")
    return Decision(ROTATE, state.current, reason="its secrets change")


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
