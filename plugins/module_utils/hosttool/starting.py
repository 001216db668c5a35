# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``starting``: the unit starts and its gate says that the engine serves, or why not.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from ..io import starts, systemd
from ..io.commands import Result
from ..io.releases import read_gate
from ..release.gate import hard_deadline
from ..release.service_state import UnitState
from ..release.start_lease import LONGEST_WAIT
from ..release.states import SWITCHED
from .adopting import take_over
from .calling_back import who_called_back
from .steps import Context, Outcome, StepFailed
from .stopping import stop_and_check

# The gate ends by itself at its deadline; this is what systemd needs around it, for a hung Docker at the worst. Before
# that the start may wait for others that could get its GPU.
_MARGIN = LONGEST_WAIT + 1200.0
_VERDICT_WAIT, _LOOK = 60.0, 0.2


def start(context: Context) -> Outcome:
    """Start the release of the run; what is recorded here must still be true after the soak."""
    take_over(context)
    try:
        return start_release(context, context.release, int(context.found(SWITCHED).get("starts") or 0))
    except StepFailed as error:
        called = who_called_back(context.paths)
        if called is None:
            raise
        raise StepFailed(called, {"seq": error.data["seq"]} if "seq" in error.data else {}) from error


def start_release(context: Context, release: str, newer_than: int = 0) -> Outcome:
    """Start the unit, whose current release this is, and wait for its gate; StepFailed with the cause.

    An engine of a start that is no ``newer_than`` this number, or of another release, is ended first.
    """
    paths, runner = context.paths, context.runner
    _end_another(context, release, newer_than)
    deadline = hard_deadline(read_gate(paths, release), _slowest(context))
    before = starts.latest(paths)
    systemd.reset_failed(paths.unit, runner=runner)
    context.say(f"starting: {deadline:.0f} s at most")
    result = systemd.start(paths.unit, timeout=deadline + _MARGIN, runner=runner)
    unit = systemd.show(paths.unit, runner=runner)
    if unit is None or unit.active != "active":
        first = _first_new(context, before, newer_than)
        raise StepFailed(_reason(context, first, result, unit), _evidence(context, first))
    seq = starts.of_invocation(paths, unit.invocation_id)
    known = starts.read(paths, seq) if seq is not None else {}
    if seq is None or not known.get("ready"):
        raise StepFailed(f"{paths.unit} is active, but no start of this invocation ({unit.invocation_id}) became ready")
    figures = {"seq": seq, "invocation_id": unit.invocation_id, "container_id": known.get("container_id")}
    said = f"{known.get('reason', '')}{_earlier(context, _first_new(context, before, newer_than), seq)}"
    return Outcome(said, {**figures, "seconds": known.get("ready_seconds")})


def _end_another(context: Context, release: str, newer_than: int) -> None:
    """End an engine that something else has started meanwhile: a restart of Docker starts what was current then."""
    unit = systemd.show(context.paths.unit, runner=context.runner)
    latest = starts.latest(context.paths)
    if unit is None or not unit.is_running or latest is None:
        return
    running = starts.read(context.paths, latest).get("release")
    if running != release or latest <= newer_than:
        context.say(f"starting: {running} runs again, somebody has started it meanwhile: it is stopped first")
        stop_and_check(context)


def _earlier(context: Context, first: int | None, seq: int) -> str:
    """A restart by hand in mid-gate goes into the same job: the start that serves is not the one that was begun."""
    if first is None or first == seq:
        return ""
    why = starts.read(context.paths, first).get("ending_reason") or "nobody noted why"
    return f"; start {first}, which this run had begun, ended before: {why}"


def _reason(context: Context, first: int | None, result: Result, unit: UnitState | None) -> str:
    """Why there is no engine: the first start of this step that failed says it best."""
    known = _known(context, first) if first is not None else {}
    if known.get("reason"):
        return f"{known['reason']} (start {first})"
    if result.ok and unit is not None:
        return f"systemd did not start {context.paths.unit}: one of its conditions does not hold"
    said = " ".join((result.err or result.out).split())
    look = f"journalctl -u {context.paths.unit}"
    return f"{said or 'systemctl start failed'}; look at: {look}"


def _known(context: Context, seq: int) -> dict[str, Any]:
    """A start whose ending is still being noted: a cancelled job ends before what it cancels, and a gate that is killed
    with its start says nothing."""
    until = context.clock.monotonic() + _VERDICT_WAIT
    while True:
        known = starts.read(context.paths, seq)
        if known.get("reason") or known.get("ending") or context.clock.monotonic() >= until:
            return known
        context.clock.sleep(_LOOK)


def _evidence(context: Context, first: int | None) -> dict[str, Any]:
    if first is None:
        return {}
    verdict = starts.read(context.paths, first).get("verdict")
    return {"seq": first, **({"verdict": verdict} if verdict else {})}


def _first_new(context: Context, before: int | None, newer_than: int) -> int | None:
    """The first start of this step; also one that a driver began which was killed since."""
    mine = context.opening.run
    numbers = [seq for seq in starts.numbers(context.paths) if seq > newer_than]
    return next((seq for seq in numbers if seq > (before or 0) or _run_of(context, seq) == mine), None)


def _run_of(context: Context, seq: int) -> object:
    return starts.read(context.paths, seq).get("run")


def _slowest(context: Context) -> float | None:
    """The longest measured start of this service: the driver must never be less patient than the gate."""
    measured = [starts.read(context.paths, seq).get("ready_seconds") for seq in starts.numbers(context.paths)]
    return max((float(seconds) for seconds in measured if isinstance(seconds, (int, float))), default=None)
