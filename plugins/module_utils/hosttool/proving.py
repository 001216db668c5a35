# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``verifying`` and ``soaking``: the engine serves what the release says, and it still is the same one afterwards.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..findings import Finding, failing, one_line
from ..io import systemd
from ..io.releases import read_gate
from ..release.states import STARTING
from . import engine
from .proof import prove
from .steps import Context, Outcome, StepFailed

_LOOK_EVERY = 1.0
_TELL_EVERY = 15.0


def verify(context: Context) -> Outcome:
    """Every claim with its evidence, a real completion among them."""
    _still_the_same(context)
    findings = prove(context)
    _fail_on(findings)
    return Outcome(f"{len(findings)} claims hold", {"findings": [finding.to_dict() for finding in findings]})


def soak(context: Context) -> Outcome:
    """Nothing may end or restart while it serves for a while; then the claims must hold once more."""
    seconds = read_gate(context.paths, context.release).soak_seconds
    began = told = context.clock.monotonic()
    while (passed := context.clock.monotonic() - began) < seconds:
        _still_the_same(context)
        if context.clock.monotonic() - told >= _TELL_EVERY:
            told = context.clock.monotonic()
            context.say(f"soaking: {passed:.0f} of {seconds:.0f} s")
        context.clock.sleep(min(_LOOK_EVERY, max(seconds - passed, 0.0)))
    _still_the_same(context)
    if seconds:
        _fail_on(prove(context))
    return Outcome(f"the same engine served for {seconds:.0f} s")


def _still_the_same(context: Context) -> None:
    """The invocation and the one container are those that were recorded right after the start."""
    started = context.found(STARTING)
    unit = systemd.show(context.paths.unit, runner=context.runner)
    if unit is None or unit.active != "active" or unit.invocation_id != started.get("invocation_id"):
        seen = "systemd does not answer" if unit is None else f"it is {unit.active}, invocation {unit.invocation_id}"
        raise StepFailed(f"{context.paths.unit} is not the start that became ready ({_id(started)}): {seen}")
    own = engine.own_containers(context.paths, runner=context.runner)
    if [state.id for state in own] != [started.get("container_id")] or not own[0].is_running:
        seen = ", ".join(f"{state.id[:12]} {state.status}" for state in own) or "none"
        raise StepFailed(f"the service must have the one container {_container(started)}, it has: {seen}")


def _fail_on(findings: Sequence[Finding]) -> None:
    errors = failing(findings)
    if errors:
        raise StepFailed(
            "; ".join(one_line(finding) for finding in errors),
            {"findings": [finding.to_dict() for finding in findings]},
        )


def _id(started: dict[str, object]) -> str:
    return f"start {started.get('seq')}, invocation {started.get('invocation_id')}"


def _container(started: dict[str, object]) -> str:
    return str(started.get("container_id") or "")[:12]
