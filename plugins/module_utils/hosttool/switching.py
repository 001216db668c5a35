# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``switched``, ``committed``, ``rolling_back``, ``rollback_failed``: which release is current, and which is good.

Private to the collection.
"""

from __future__ import annotations

from ..io import containers, starts, systemd
from ..io.files import remove, switch_link, write_atomic
from ..release.states import GATED_KINDS, REMOVE, REPLACING_KINDS, ROTATE, STARTING, STARTING_KINDS
from . import engine, rotating
from .adopting import give_back
from .going_back import go_back
from .removing import remove_service
from .steps import Context, Outcome, StepFailed
from .stopping import STOP_TIMEOUT, leave_no_container, stop_unit


def switch(context: Context) -> Outcome:
    """Let the unit find the release; a stopped service may run again."""
    context.record()
    if context.opening.kind == ROTATE:
        rotating.bring_in(context.paths)
    before = starts.latest(context.paths) or 0
    switch_link(context.paths.current, f"releases/{context.release}")
    remove(context.paths.stopped)
    return Outcome(f"current is {context.release}", {"starts": before})


def commit(context: Context) -> Outcome:
    """From here on the release boots by itself; for a removal, take away what made the service."""
    if context.opening.kind in GATED_KINDS:
        switch_link(context.paths.last_good, f"releases/{context.release}")
        rotating.keep(context.paths)
        found = context.found(STARTING)
        seq = found.get("seq")
        startup = starts.startup(context.paths, seq) if seq else {}
        figures = {key: startup[key] for key in ("kv_cache_tokens", "max_concurrency") if startup.get(key) is not None}
        return Outcome(f"last good is {context.release}", {**found, **figures})
    if context.opening.kind == REMOVE:
        return Outcome(remove_service(context.paths))
    return Outcome("it stays stopped until it is started again")


def roll_back(context: Context) -> Outcome:
    """Back to what was there before the run."""
    if context.opening.kind in REPLACING_KINDS:
        return go_back(context)
    if context.opening.kind in STARTING_KINDS:
        return _take_back_start(context)
    return _take_back_stop(context)


def _take_back_start(context: Context) -> Outcome:
    """Stop the unit (this also cancels a pending automatic restart), put the pointer back, leave no container.

    The pointer goes before Docker is asked: whatever Docker does, nothing starts what was taken back.
    """
    stop_unit(context)
    previous = context.opening.data.get("previous")
    if previous:
        switch_link(context.paths.current, f"releases/{previous}")
    else:
        remove(context.paths.current)
    if context.opening.data.get("was_stopped"):
        write_atomic(context.paths.stopped, f"{context.opening.run}: its start was taken back\n")
    systemd.reset_failed(context.paths.unit, runner=context.runner)
    leave_no_container(context)
    given_back = give_back(context)
    where = f"evidence in {context.paths.starts}"
    return Outcome(f"the unit is stopped, current is {previous or 'nothing'} again; {where}{given_back}")


def _take_back_stop(context: Context) -> Outcome:
    """A stop that failed half-way: say so unless the engine never stopped, then it simply goes on."""
    unit = systemd.show(context.paths.unit, runner=context.runner)
    if unit is not None and unit.active == "active":
        remove(context.paths.stopped)
        return Outcome("the engine was not stopped and goes on as before")
    systemd.stop(context.paths.unit, timeout=STOP_TIMEOUT, runner=context.runner)
    try:
        left = engine.own_containers(context.paths, runner=context.runner)
    except containers.DockerError as error:
        raise StepFailed(f"the unit is stopped, but Docker does not answer: {error}") from error
    raise StepFailed(f"the unit is stopped, but the run could not end; containers left: {len(left)}")
