# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``verifying`` and ``soaking``: the engine serves what the release says, and it still is the same one afterwards.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..findings import Finding, failing, one_line
from ..io import systemd
from ..io.releases import read_gate
from ..release.states import ROTATE, STARTING
from . import engine
from .calling_back import who_called_back
from .confirming import await_confirmation
from .proof import prove
from .rotation_proof import prove_rotation
from .steps import Context, Outcome, StepFailed

_LOOK_EVERY = 1.0
_TELL_EVERY = 15.0


def verify(context: Context) -> Outcome:
    """Every claim with its evidence, a real completion among them."""
    _go_on(context)
    findings = prove_start(context, context.release, context.found(STARTING))
    if context.opening.kind == ROTATE:
        prove_rotation(context)
    return Outcome(f"{len(findings)} claims hold", {"findings": [finding.to_dict() for finding in findings]})


def soak(context: Context) -> Outcome:
    """Nothing may end or restart while it serves for a while; then the claims must hold once more."""
    seconds = read_gate(context.paths, context.release).soak_seconds
    began = told = context.clock.monotonic()
    while (passed := context.clock.monotonic() - began) < seconds:
        _go_on(context)
        if context.clock.monotonic() - told >= _TELL_EVERY:
            told = context.clock.monotonic()
            context.say(f"soaking: {passed:.0f} of {seconds:.0f} s")
        context.clock.sleep(min(_LOOK_EVERY, max(seconds - passed, 0.0)))
    confirmed = await_confirmation(context, _go_on)
    _go_on(context)
    if seconds or confirmed:
        prove_start(context, context.release, context.found(STARTING))
    return Outcome(f"the same engine served for {seconds:.0f} s{confirmed}")


def prove_start(context: Context, release: str, started: Mapping[str, Any]) -> list[Finding]:
    """Prove that a start is the one that was recorded and that it serves; StepFailed with what does not hold."""
    _still_the_same(context, started)
    findings = prove(context, release, started)
    errors = failing(findings)
    if errors:
        told = {"findings": [finding.to_dict() for finding in findings]}
        raise StepFailed("; ".join(one_line(finding) for finding in errors), told)
    return findings


def _go_on(context: Context) -> None:
    """StepFailed when there is no use in going on: it was called back, it is late, or it is not the same any more."""
    called = who_called_back(context.paths)
    if called is not None:
        raise StepFailed(called)
    limit = read_gate(context.paths, context.release).progress_deadline_seconds
    passed = context.clock.monotonic() - float(context.told("opened_monotonic") or 0.0)
    if limit is not None and passed > limit:
        raise StepFailed(f"not committed within the progress deadline of {limit:.0f} s ({passed:.0f} s have passed)")
    _still_the_same(context, context.found(STARTING))


def _still_the_same(context: Context, started: Mapping[str, Any]) -> None:
    """The invocation and the one container are those that were recorded right after the start."""
    unit = systemd.show(context.paths.unit, runner=context.runner)
    if unit is None or unit.active != "active" or unit.invocation_id != started.get("invocation_id"):
        seen = "systemd does not answer" if unit is None else f"it is {unit.active}, invocation {unit.invocation_id}"
        raise StepFailed(f"{context.paths.unit} is not the start that became ready ({_id(started)}): {seen}")
    own = engine.own_containers(context.paths, runner=context.runner)
    if [state.id for state in own] != [started.get("container_id")] or not own[0].is_running:
        seen = ", ".join(f"{state.id[:12]} {state.status}" for state in own) or "none"
        raise StepFailed(f"the service must have the one container {_container(started)}, it has: {seen}")


def _id(started: Mapping[str, Any]) -> str:
    return f"start {started.get('seq')}, invocation {started.get('invocation_id')}"


def _container(started: Mapping[str, Any]) -> str:
    return str(started.get("container_id") or "")[:12]
