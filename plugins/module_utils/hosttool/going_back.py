# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``rolling_back`` and ``rollback_failed`` of a run that replaces an engine: to what was good before, once.

Nothing here needs a network: image, weights and secrets are those that lie on the host.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Callable

from ..io import starts, systemd
from ..io.files import link_name, remove, switch_link
from ..release.paths import Paths
from ..release.states import ROLLING_BACK, STARTING, SWITCHED
from . import rotating
from .proving import prove_start
from .release_proof import held_before, prove_release
from .starting import start_release
from .steps import Context, Outcome, StepFailed
from .stopping import leave_no_container, mark_stopped, stop_unit


def go_back(context: Context) -> Outcome:
    """Stop what failed, put pointer and secrets back, start what was good, and prove that it serves.

    Where the service was down before the run, it is down again.
    """
    target = context.told("way_back")
    if not target:
        raise StepFailed("there is no last good release to go back to")
    failed = int(context.found(STARTING).get("seq") or context.found(SWITCHED).get("starts") or 0)
    if not _runs_again(context, target, failed):
        held = held_before(context, target)
        stop_unit(context)
        put_back(context.paths, target)
        leave_no_container(context)
        prove_release(context, held)
    systemd.reset_failed(context.paths.unit, runner=context.runner)
    if not context.told("was_running"):
        if context.told("was_stopped"):
            mark_stopped(context)
        return Outcome(f"current is {target} again; it was down before and is down again")
    started = start_release(context, target, failed)
    findings = prove_start(context, target, started.data)
    return Outcome(f"{target} serves again, {started.message}; {len(findings)} claims hold", started.data)


def put_back(paths: Paths, target: str) -> None:
    """Let pointer and secrets be what they were before the run; the pointer first, whatever comes then."""
    switch_link(paths.current, f"releases/{target}")
    rotating.put_back(paths)


def give_up(context: Context) -> Outcome:
    """No engine, and none at the next boot, until a human says what shall run. Every part is tried."""
    mark_stopped(context)
    parts = (stop_unit, leave_no_container, _point_to_last_good)
    left = [problem for part in parts if (problem := _try(part, context))]
    systemd.reset_failed(context.paths.unit, runner=context.runner)
    numbers = [str(seq) for state in (STARTING, ROLLING_BACK) if (seq := context.found(state).get("seq"))]
    logs = f"logs of start {' and '.join(dict.fromkeys(numbers))}" if numbers else "logs"
    told = f"the unit is stopped and stays down, also over a reboot; {logs} in {context.paths.starts}"
    return Outcome("; ".join([told, *left]))


def _runs_again(context: Context, target: str, failed: int) -> bool:
    """Whether a driver that died was past the stop already: what is on its way up is not stopped once more."""
    paths = context.paths
    unit = systemd.show(paths.unit, runner=context.runner)
    latest = starts.latest(paths)
    if unit is None or not unit.is_running or link_name(paths.current) != target or (latest or 0) <= failed:
        return False
    return starts.read(paths, latest or 0).get("release") == target and not paths.back_secrets.exists()


def _point_to_last_good(context: Context) -> None:
    """What a start playbook will start; nothing where nothing was ever good."""
    good = link_name(context.paths.last_good)
    if good is not None:
        put_back(context.paths, good)
    else:
        remove(context.paths.current)


def _try(part: Callable[[Context], None], context: Context) -> str:
    try:
        part(context)
    except (StepFailed, OSError) as error:
        return str(error)
    return ""
