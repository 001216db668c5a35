# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``stopped``: end the engine, and prove that nothing of it is left.

Private to the collection.
"""

from __future__ import annotations

from ..io import containers, systemd
from ..io.files import write_atomic
from ..io.readers import make_state
from ..release.states import REPLACING_KINDS
from . import engine
from .errors import ToolError
from .release_proof import held_before, prove_release
from .steps import Context, Outcome, StepFailed

# Above the unit's own ceiling (TimeoutStopSec=900), which ends a stop whatever hangs.
STOP_TIMEOUT = 960.0
# How long Docker may be away when a run looks for what is left: an upgrade of its package takes seconds.
DOCKER_WAIT = 90.0
_ASK_EVERY = 1.0


def stop(context: Context) -> Outcome:
    """End the engine and look if it is gone. For good: marked as stopped first, which holds over a reboot.

    For another engine to come: what it needs has to be free.
    """
    for_good = context.opening.kind not in REPLACING_KINDS
    if for_good:
        mark_stopped(context)
    held = held_before(context)
    stop_and_check(context)
    if for_good:
        systemd.reset_failed(context.paths.unit, runner=context.runner)
    return Outcome(f"the engine ended, no container is left; {prove_release(context, held)}")


def mark_stopped(context: Context) -> None:
    """From now on only a run starts the service."""
    make_state(context.paths)
    write_atomic(context.paths.stopped, f"{context.opening.run} by {context.opening.by or 'unknown'}\n")


def stop_and_check(context: Context) -> None:
    """Stop the unit, and remove what outlived it; StepFailed when something still runs."""
    stop_unit(context)
    leave_no_container(context)


def stop_unit(context: Context) -> None:
    """Stop the unit; StepFailed when it still runs."""
    paths, runner = context.paths, context.runner
    result = systemd.stop(paths.unit, timeout=STOP_TIMEOUT, runner=runner)
    unit = systemd.show(paths.unit, runner=runner)
    if unit is None or unit.is_running:
        seen = "systemd does not answer" if unit is None else f"it is {unit.active} ({unit.sub})"
        raise StepFailed(f"systemctl stop {paths.unit} failed: {result.err.strip() or 'no reason given'}; {seen}")


def leave_no_container(context: Context) -> None:
    """Remove what outlived the unit, its evidence kept; StepFailed when something is left or Docker cannot say."""
    until = context.clock.monotonic() + DOCKER_WAIT
    while True:
        try:
            found = engine.clear(context.paths, runner=context.runner)
            left = engine.own_containers(context.paths, runner=context.runner) if found else []
            break
        except containers.DockerError as error:
            if context.clock.monotonic() >= until:
                raise StepFailed(f"the unit is stopped, but its container may be left: {error}") from error
        except ToolError as error:
            raise StepFailed(f"the unit is stopped, but its container may be left: {error}") from error
        context.clock.sleep(_ASK_EVERY)
    if left:
        raise StepFailed(f"the unit is stopped, but the container {left[0].id[:12]} cannot be removed")
