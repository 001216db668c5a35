# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""ExecStop: ask the engine to end, and give it the grace of its release. systemd calls it for served engines only,
also for one that has just ended by itself: that it runs says nothing about who wanted the ending.

Private to the collection.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..io import containers, notify
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import link_name
from ..io.releases import read_gate
from ..release.gate import Gate
from ..release.paths import Paths
from . import engine
from .errors import ToolError
from .process import MainProcess
from .service_args import parser, paths_of

_CLIENT_WAIT, _LOOK = 5.0, 0.01


def main(argv: Sequence[str]) -> int:
    """The verb."""
    args = parser("stop-engine", "stop the engine with its grace (called by the unit)").parse_args(argv)
    stop(paths_of(args.service))
    await_client(MainProcess(os.environ.get("MAINPID")))
    return 0


def await_client(client: MainProcess, *, clock: Clock = CLOCK) -> None:
    """Let Docker's client tell systemd how the engine ended: what is left after this verb is killed."""
    until = clock.monotonic() + _CLIENT_WAIT
    while client.lives() and clock.monotonic() < until:
        clock.sleep(_LOOK)


def stop(paths: Paths, *, runner: Runner = run) -> None:
    """Stop every running container of the service; one that has ended already is left for after-stop."""
    grace = gate_of_current(paths).stop_grace_seconds
    try:
        running = [state for state in engine.own_containers(paths, runner=runner) if state.is_running]
        for state in running:
            notify.status(f"stopping, {grace:.0f} s at most")
            result = containers.stop(state.id, grace, runner=runner)
            if not result.ok:
                raise ToolError(f"{paths.service}: docker stop failed: {containers.docker_reason(result)}")
    except containers.DockerError as error:
        raise ToolError(f"{paths.service}: Docker does not answer: {error}") from error


def gate_of_current(paths: Paths) -> Gate:
    """The limits of the current release; the defaults when there is none."""
    release_id = link_name(paths.current)
    return read_gate(paths, release_id) if release_id else Gate()
