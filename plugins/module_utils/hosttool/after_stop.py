# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""ExecStopPost: runs at every ending of a start, also when the gate failed. Keeps why it ended; leaves no container.

Private to the collection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..io import containers, starts
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import remove
from ..release.gate import CUT_OFF
from ..release.paths import Paths
from . import engine
from .service_args import parser, paths_of
from .stop_engine import gate_of_current


def main(argv: Sequence[str]) -> int:
    """The verb."""
    args = parser("after-stop", "keep the evidence of a start, leave no container (called by the unit)").parse_args(
        argv
    )
    return 0 if finish(paths_of(args.service)) else 1


def finish(
    paths: Paths, *, environ: Mapping[str, str] | None = None, runner: Runner = run, clock: Clock = CLOCK
) -> bool:
    """Note the ending, end what still runs, keep evidence, remove all containers; False when Docker did not let us."""
    environ = os.environ if environ is None else environ
    seq = _start(paths, environ)
    if seq is not None:
        starts.update(paths, seq, {**_ending(environ, clock), **_cut_off(starts.read(paths, seq), environ, clock)})
    try:
        for state in engine.own_containers(paths, runner=runner):
            ended = engine.end(state, _grace(paths, seq), runner=runner)
            engine.close_start(paths, _owner(paths, seq, state), ended, runner=runner)
    except containers.DockerError as error:
        # The next before-start keeps what can still be kept; Docker is down, so no engine of ours runs in it.
        if seq is not None:
            starts.update(paths, seq, {"evidence_error": f"Docker did not answer: {error}"})
        return False
    remove(paths.cid)
    return True


def _start(paths: Paths, environ: Mapping[str, str]) -> int | None:
    """The start that ends: the one of this invocation; by hand, the newest one that has no ending yet."""
    if environ.get("INVOCATION_ID"):
        return starts.of_invocation(paths, environ["INVOCATION_ID"])
    seq = starts.latest(paths)
    return seq if seq is not None and "ended_at" not in starts.read(paths, seq) else None


def _ending(environ: Mapping[str, str], clock: Clock) -> dict[str, Any]:
    names = {"SERVICE_RESULT": "service_result", "EXIT_CODE": "main_code", "EXIT_STATUS": "main_status"}
    return {"ended_at": clock.now(), **{key: environ[name] for name, key in names.items() if name in environ}}


def _cut_off(known: Mapping[str, Any], environ: Mapping[str, str], clock: Clock) -> dict[str, Any]:
    """The verdict on a start whose gate never gave one: it was killed with the start, or by somebody."""
    if "verdict" in known or known.get("ready"):
        return {}
    began = known.get("begun_monotonic")
    lasted = f" after {clock.monotonic() - began:.0f} s" if isinstance(began, (int, float)) else ""
    said = f" (systemd says: {environ['SERVICE_RESULT']})" if "SERVICE_RESULT" in environ else ""
    return {"ready": False, "verdict": CUT_OFF, "reason": f"the start was cut off{lasted}, before it was ready{said}"}


def _grace(paths: Paths, seq: int | None) -> float:
    """A container can outlive its main process when its docker client was killed; served ones get their own grace."""
    served = seq is not None and starts.read(paths, seq).get("ready")
    return gate_of_current(paths).stop_grace_seconds if served else engine.SHORT_GRACE


def _owner(paths: Paths, seq: int | None, state: containers.ContainerState) -> int | None:
    """The start to keep the evidence under: this one, unless the container is known to be of another."""
    known = engine.start_of_container(paths, state.id)
    if known is not None:
        return known
    return seq if seq is not None and "container_id" not in starts.read(paths, seq) else None
