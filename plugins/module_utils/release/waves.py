# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A change of a fleet in waves: what a plan lets an upgrade do, how each run ended, and whether the next wave may go.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from .plan import BUSY, DIFFERS, FAILED, STAYS_STOPPED, UNCHANGED, playbook
from .states import ABORTED, COMMITTED, ROLLBACK_FAILED, ROLLED_BACK, ROLLING_BACK, STOPPED, VERIFYING

ALREADY = "already"
UNTOUCHED = "untouched"
WAITS = "waits"
UNREACHABLE = "unreachable"
REFUSED = "refused"
WOULD_CHANGE = "would_change"

# How a run may have ended for the next wave to go.
GOOD = (COMMITTED, ALREADY, WOULD_CHANGE)


@dataclass(frozen=True)
class Changed:
    """What became of one service of one host: from which release, to which, how, and what it cost."""

    result: str
    before: str | None = None
    after: str | None = None
    interruption_seconds: float | None = None
    start_seconds: float | None = None
    kv_tokens_before: int | None = None
    kv_tokens_after: int | None = None
    reason: str = ""
    next: str = ""

    @property
    def good(self) -> bool:
        """Whether the service is where it shall be."""
        return self.result in GOOD

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return asdict(self)


def is_to_change(entry: Mapping[str, Any]) -> bool:
    """Whether an upgrade has a run to make or to follow, by the plan of a service."""
    action = entry["action"]
    differs = entry.get("wanted") not in (None, entry.get("last_good"))
    known = entry.get("last_good") is not None
    return action in (DIFFERS, BUSY) or (action in (FAILED, STAYS_STOPPED) and differs and known)


def refusal(entry: Mapping[str, Any] | None, name: str) -> str | None:
    """Why a service that a human named cannot be upgraded, with what to type; None where it can, or needs nothing."""
    if entry is None:
        return f"{name} is on the host but no longer in its inventory. Next: {playbook('remove', name)}"
    if entry["action"] == UNCHANGED or is_to_change(entry):
        return None
    action = str(entry["action"]).replace("_", " ")
    reason = str(entry["reason"])
    told = reason if reason.startswith(action) else f"{action}: {reason}"
    return f"{name}: {told}" + (f". Next: {entry['next']}" if entry.get("next") else "")


def changed(entry: Mapping[str, Any], run: Mapping[str, Any] | None) -> Changed:
    """What became of a service, from its plan and from what the run's last task said (None: there was none)."""
    before = entry.get("current") or entry.get("last_good")
    kv_before = entry.get("kv_cache_tokens")
    if entry["action"] == UNCHANGED and run is None:
        return Changed(ALREADY, before, before, kv_tokens_before=kv_before, kv_tokens_after=kv_before)
    if run is None or run.get("skipped"):
        return Changed(UNTOUCHED, before, before, kv_tokens_before=kv_before)
    if run.get("unreachable"):
        reason = "the host cannot be reached; what had begun there goes on there, and ends by itself"
        return Changed(UNREACHABLE, before, reason=reason, kv_tokens_before=kv_before, next=_again(entry))
    start = run.get("start") or {}
    return Changed(
        result=_result(run),
        before=before,
        after=run.get("release") or entry.get("wanted"),
        interruption_seconds=interruption((run.get("run") or {}).get("steps") or ()),
        start_seconds=start.get("seconds"),
        kv_tokens_before=kv_before,
        kv_tokens_after=start.get("kv_cache_tokens_usable"),
        reason=_reason(run),
        next=str(run.get("next") or ""),
    )


def _result(run: Mapping[str, Any]) -> str:
    if run.get("result"):
        return str(run["result"])
    if run.get("failed"):
        return REFUSED
    if run.get("awaits_confirm") or run.get("finished") is False:
        return WAITS
    return WOULD_CHANGE if run.get("changed") else ALREADY


def _reason(run: Mapping[str, Any]) -> str:
    """Why it did not commit: the run's own sentence, or what the task said where there was no run."""
    if run.get("result") == COMMITTED or not (run.get("failed") or run.get("result") or run.get("awaits_confirm")):
        return ""
    return str(run.get("summary") or run.get("msg") or "the task failed without a word")


def _again(entry: Mapping[str, Any]) -> str:
    return f"once it is back, the same again follows the run or says how it ended: {playbook('upgrade', entry['name'])}"


def interruption(steps: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds without a release that serves: from the begin of the stop to the proof of the new one or, where that
    one did not get so far, of the old one again; going back from one that served counts too.

    None where nothing was stopped, or nothing serves since.
    """
    stopped, proven, back = (_first(steps, state) for state in (STOPPED, VERIFYING, ROLLED_BACK))
    served = proven or back
    if stopped is None or served is None or any(step["state"] == ROLLBACK_FAILED for step in steps):
        return None
    seconds = (_time(served) - _time(stopped)).total_seconds() + (stopped.get("seconds") or 0.0)
    going_back = _first(steps, ROLLING_BACK) if proven and back else None
    return round(seconds + ((going_back or {}).get("seconds") or 0.0), 1)


def _first(steps: Sequence[Mapping[str, Any]], state: str) -> Mapping[str, Any] | None:
    return next((step for step in steps if step["state"] == state and step["outcome"] == "done"), None)


def _time(step: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(str(step["at"]).replace("Z", "+00:00"))


def halted_by(earlier: Iterable[tuple[str, Sequence[Changed]]]) -> list[str]:
    """The hosts of earlier waves that keep the next one from going."""
    return [host for host, services in earlier if not all(each.good for each in services)]


def way_back_command(committed: Iterable[tuple[str, str]]) -> str:
    """What takes the committed hosts back, from pairs of host and service; empty where none has committed."""
    pairs = list(committed)
    if not pairs:
        return ""
    hosts = ",".join(dict.fromkeys(host for host, service in pairs))
    services = ",".join(dict.fromkeys(service for host, service in pairs))
    return f"ansible-playbook gpuhosts.vllm.rollback --limit {hosts} -e vllm_confirm={services}"


_TOLD = {
    COMMITTED: "committed: {before} -> {after}",
    ALREADY: "nothing to do: it has {before}",
    UNTOUCHED: "untouched: it has {before}",
    WAITS: "waits for the controller's word: {before} -> {after}",
    UNREACHABLE: "unreachable: it had {before}",
    REFUSED: "not begun: it has {before}",
    WOULD_CHANGE: "would change: {before} -> {after}",
    ABORTED: "aborted: {before} -> {after} was not begun, {before} serves as before",
    ROLLED_BACK: "rolled back: {before} -> {after} failed, it has {before} again",
    ROLLBACK_FAILED: "rollback failed: {before} -> {after} failed, and so did going back: it is down",
}


def changed_lines(change: Mapping[str, Any]) -> list[str]:
    """The block of one service for people: how it ended, what it cost, why, what to type."""
    told = _TOLD.get(change["result"], change["result"]).format(
        before=change["before"] or "nothing", after=change["after"] or "nothing"
    )
    lines = ["; ".join([told, *_figures(change)])]
    lines += [f"  why: {change['reason']}"] if change["reason"] else []
    lines += [f"  next: {change['next']}"] if change["next"] else []
    return lines


def _figures(change: Mapping[str, Any]) -> list[str]:
    figures = []
    if change["interruption_seconds"] is not None:
        figures.append(f"away for {change['interruption_seconds']:.1f} s")
    if change["start_seconds"] is not None and change["result"] == COMMITTED:
        figures.append(f"started in {change['start_seconds']:.1f} s")
    tokens = [change["kv_tokens_before"], change["kv_tokens_after"]]
    if change["result"] == COMMITTED and any(tokens):
        words = ["unknown" if each is None else f"{each:,}" for each in tokens]
        figures.append(f"KV cache {' -> '.join(words)} tokens")
    return figures
