# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Say what would happen to a service: what the inventory wants against what the host has. Nothing is done here.

The first rule that speaks decides; the order of the rules is the order of what matters.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .by_hand import by_hand
from .differences import content_differences
from .ending import failure_text, first_failed_start
from .history import failed_before, failure_of, way_down
from .journal import Entry, outcome
from .paths import Paths
from .service_state import ServiceState
from .states import CHANGE, ROLLBACK, ROLLBACK_FAILED

FIRST_START = "first_start"
UNCHANGED = "unchanged"
DIFFERS = "differs"
STAYS_STOPPED = "stays_stopped"
FROZEN = "frozen"
QUARANTINED = "quarantined"
FAILED = "failed"
STOP = "stop"
REMOVE = "remove"
BUSY = "busy"
NOTHING = "nothing"

# The playbook of a kind of run, where it has another name.
VERBS = {CHANGE: "upgrade"}

# How long a stop takes at worst is the service's own grace; this is what a served stop took when it was measured.
_STOP_SECONDS = 1.0


@dataclass(frozen=True)
class PlanEntry:
    """What would happen to one service, why, for how long it would be away, how to get back, and what to type."""

    name: str
    action: str
    reason: str
    wanted: str | None = None
    current: str | None = None
    last_good: str | None = None
    goes_back_to: str | None = None
    differences: tuple[Mapping[str, Any], ...] = ()
    running: Mapping[str, Any] | None = None
    downtime_seconds: float | None = None
    way_back: str = ""
    next: str = ""
    by_hand: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the entry as plain data."""
        return {
            **asdict(self),
            "differences": [dict(item) for item in self.differences],
            "by_hand": list(self.by_hand),
        }


def plan_service(wanted: Mapping[str, Any], state: ServiceState, *, retry: bool = False) -> PlanEntry:
    """Plan one service of the inventory against what its host has; ``retry`` forgives a release that went back."""
    desired = wanted["state"]
    release = None if desired == "absent" else (wanted.get("release") or {}).get("id")
    rules = [_unreadable, _busy, _frozen, *{"started": _STARTED, "stopped": _STOPPED, "absent": _ABSENT}[desired]]
    forgiven = (_failed_first, _quarantined) if retry else ()
    entry = next(filter(None, (rule(release, state) for rule in rules if rule not in forgiven)))
    return _with_facts(entry, release, wanted, state)


def left_inventory(on_host: Iterable[str], in_inventory: Iterable[str]) -> list[str]:
    """Name the services that a host has and the inventory does not know."""
    return sorted(set(on_host) - set(in_inventory))


def retry_remedy(name: str, first: bool = True) -> str:
    """What to do about a release that failed on this host, as its first start or as an upgrade."""
    again = playbook("deploy") if first else playbook("upgrade", name)
    return f"change the definition, or try the same again with: {again} -e vllm_retry={name}"


def way_on(name: str, records: Sequence[Entry]) -> str:
    """What to type after a run that did not commit."""
    kind = records[0].kind
    if kind == FIRST_START:
        return retry_remedy(name) if failure_of(records) else f"begin again with: {playbook('deploy')}"
    if kind == CHANGE and failure_of(records):
        return retry_remedy(name, first=False)
    if kind == ROLLBACK and outcome(records) == ROLLBACK_FAILED:
        return f"name another release that was good here: {playbook('rollback', name)} -e vllm_release=REL"
    return f"begin again with: {playbook(VERBS.get(kind, kind), name)}"


def playbook(verb: str, name: str | None = None) -> str:
    """The command that a human types for a verb, with the word that lets it act."""
    return f"ansible-playbook gpuhosts.vllm.{verb}" + (f" -e vllm_confirm={name}" if name else "")


def _entry(state: ServiceState, action: str, reason: str, **more: Any) -> PlanEntry:
    return PlanEntry(name=state.name, action=action, reason=reason, **more)


def _unreadable(_release: str | None, state: ServiceState) -> PlanEntry | None:
    if not state.journal_error:
        return None
    remedy = (
        f"look at /var/lib/gpuhosts-vllm/{state.name}/journal.jsonl on the host; nothing changes until it can be read"
    )
    return _entry(state, FAILED, f"its journal cannot be read: {state.journal_error}", next=remedy)


def _busy(_release: str | None, state: ServiceState) -> PlanEntry | None:
    records = state.open_run
    if not records:
        return None
    began = f"run {records[0].run} ({records[0].kind}) of {records[0].at} by {records[0].by or 'unknown'}"
    if state.driver_alive:
        return _entry(
            state, BUSY, f"{began} is under way, at {records[-1].state}", next=f"vllm-host status {state.name}"
        )
    return _entry(state, BUSY, f"{began} was cut off at {records[-1].state}", next=f"vllm-host run {state.name}")


def _frozen(_release: str | None, state: ServiceState) -> PlanEntry | None:
    if state.frozen is None:
        return None
    return _entry(
        state, FROZEN, f"frozen: {state.frozen or 'no reason was given'}", next=playbook("unfreeze", state.name)
    )


def _failed_first(release: str | None, state: ServiceState) -> PlanEntry | None:
    cause = None if state.last_good else failed_before(release, state.entries)
    if cause is None:
        return None
    return _entry(state, FAILED, f"{release} failed here and was taken back: {cause}", next=retry_remedy(state.name))


def _first_start(release: str | None, state: ServiceState) -> PlanEntry | None:
    if state.last_good:
        return None
    evidence = Paths(state.name).starts
    return _entry(
        state,
        FIRST_START,
        "it has never been committed on this host",
        way_back=f"a failed first start ends with the unit stopped and its evidence in {evidence}",
        next=playbook("deploy"),
    )


def _quarantined(release: str | None, state: ServiceState) -> PlanEntry | None:
    """What failed here stays visible: the inventory wants it, the host went back, nobody tries it without a word."""
    if not state.last_good or release in (None, state.current):
        return None
    cause = failed_before(release, state.entries)
    if cause is None:
        return None
    has = f"runs {state.current}" if state.is_running else f"is down, its last good release is {state.last_good}"
    reason = f"the inventory wants {release}, which went back here: {cause}; it {has}"
    return _entry(state, QUARANTINED, reason, way_back=_way_back(state), next=retry_remedy(state.name, first=False))


def _way_back(state: ServiceState) -> str:
    """How a change of a service ends that does not prove itself."""
    to = state.last_good or "nothing"
    if not state.is_running:
        return f"a change that fails leaves it down, with {to} as its current release"
    return f"the host goes back to {to} by itself when the gate fails"


def _running(release: str | None, state: ServiceState) -> PlanEntry | None:
    if not state.is_running:
        return None
    if state.current == release and state.unit is not None and state.unit.waits:
        docker = "" if state.docker_answers else "; Docker does not answer, and it comes back with it"
        return _entry(state, UNCHANGED, f"it is what the inventory wants, and waits for its next start{docker}")
    if state.current == release:
        return _entry(state, UNCHANGED, "it runs what the inventory wants")
    reason = f"it runs {state.current}, the inventory wants {release}"
    return _entry(state, DIFFERS, reason, way_back=_way_back(state), next=playbook("upgrade", state.name))


def _unit_is_gone(_release: str | None, state: ServiceState) -> PlanEntry | None:
    """Somebody removed the unit's file: what a first start does puts it back, and starts what was committed."""
    if state.installed or state.stopped:
        return None
    reason = f"its unit {Paths(state.name).unit_file} is gone: it is written again, and what was committed is started"
    return _entry(state, FIRST_START, reason, way_back="none is needed: it is down", next=playbook("deploy"))


def _down(release: str | None, state: ServiceState) -> PlanEntry | None:
    way_back = "a start that fails leaves the service stopped, as it is now"
    if state.stopped:
        return _entry(state, STAYS_STOPPED, "it was stopped", way_back=way_back, next=playbook("start", state.name))
    if not state.docker_answers and state.last_good == release:
        return _entry(state, UNCHANGED, "Docker does not answer; the service comes back with it")
    seen = f"its unit is {state.unit.active} ({state.unit.result})" if state.unit else "systemd does not answer"
    why = f"{seen}, and no run stopped it{_why_down(state)}"
    return _entry(state, FAILED, why, way_back=way_back, next=playbook("start", state.name))


def _why_down(state: ServiceState) -> str:
    """How the last start ended; where several failed in a row, the first one has the cause."""
    ended = [start for start in state.starts if start.data.get("ending")]
    shown = first_failed_start(state.starts) or (ended[-1] if ended else None)
    if shown is None:
        return ""
    first = "the first failure" if shown is not ended[-1] else "its last start"
    return f"; {first} (start {shown.seq}): {failure_text(shown.data)}"


def _stay_stopped(_release: str | None, state: ServiceState) -> PlanEntry | None:
    if state.is_running:
        back = playbook("start", state.name)
        return _entry(
            state, STOP, "it runs, the inventory wants it stopped", way_back=back, next=playbook("stop", state.name)
        )
    if state.last_good and not state.stopped:
        reason = "it is down, but would come back at the next start of Docker"
        return _entry(state, STOP, reason, way_back=playbook("start", state.name), next=playbook("stop", state.name))
    reason = "it is stopped, as the inventory wants" if state.last_good else "it was never started here"
    return _entry(state, UNCHANGED if state.last_good else NOTHING, reason)


def _remove(_release: str | None, state: ServiceState) -> PlanEntry | None:
    if not state.is_there:
        return _entry(state, NOTHING, "it is not on this host")
    back = "put it back into the inventory and deploy; images, caches and the evidence of past starts stay"
    return _entry(state, REMOVE, "the inventory wants it absent", way_back=back, next=playbook("remove", state.name))


_STARTED = (_failed_first, _first_start, _quarantined, _running, _unit_is_gone, _down)
_STOPPED = (_stay_stopped,)
_ABSENT = (_remove,)


def _with_facts(entry: PlanEntry, release: str | None, wanted: Mapping[str, Any], state: ServiceState) -> PlanEntry:
    return replace(
        entry,
        wanted=release,
        current=state.current,
        last_good=state.last_good,
        goes_back_to=way_down(state.entries, state.current, state.last_good),
        differences=tuple(_differences(release, wanted, state)),
        running=_running_content(entry, state),
        by_hand=tuple(each.text for each in by_hand(state)),
        downtime_seconds=_downtime(entry.action, state),
    )


def _differences(release: str | None, wanted: Mapping[str, Any], state: ServiceState) -> list[dict[str, Any]]:
    recorded = state.contents.get(state.current or state.last_good or "")
    if release is None or recorded is None:
        return []
    return content_differences(recorded, wanted["release"]["content"])


def _running_content(entry: PlanEntry, state: ServiceState) -> dict[str, Any] | None:
    """What the controller needs to audit the upgrade: the version and the arguments of what runs."""
    recorded = state.contents.get(state.current or "")
    if entry.action not in (DIFFERS, QUARANTINED) or recorded is None:
        return None
    return {key: recorded[key] for key in ("version", "args")}


def _downtime(action: str, state: ServiceState) -> float | None:
    """Seconds without an answer; None where nobody can know, or where it lasts until somebody starts the service."""
    if action in (DIFFERS, QUARANTINED) and state.is_running:
        measured = state.start_seconds()
        return None if measured is None else round(measured + _STOP_SECONDS, 1)
    return None if action in (STOP, REMOVE, BUSY) else 0.0
