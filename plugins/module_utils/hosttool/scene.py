# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What can be seen of a start at its ending, before anything is touched: afterwards it would be our own doing.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..io import containers, starts, systemd
from ..io.clock import Clock
from ..io.commands import Runner
from ..io.journals import read_journal
from ..release.ending import Seen
from ..release.journal import JournalError, open_run
from ..release.paths import Paths
from ..release.states import ROLLING_BACK, STOPPED
from . import engine

DOCKER_UNIT = "docker.service"


@dataclass(frozen=True)
class Own:
    """The containers of the service as they are found, or why Docker did not say; and who was asked."""

    runner: Runner
    states: tuple[containers.ContainerState, ...] = ()
    error: str = ""


def own(paths: Paths, runner: Runner) -> Own:
    """Ask Docker for the containers of the service."""
    try:
        return Own(runner, tuple(engine.own_containers(paths, runner=runner)))
    except containers.DockerError as error:
        return Own(runner, error=str(error))


def look(paths: Paths, seq: int, there: Own, environ: Mapping[str, str], clock: Clock) -> Seen:
    """The scene, but for what Docker knows of the container once it has ended."""
    known = starts.read(paths, seq)
    lasted, served = _seconds(known, clock)
    return replace(
        _of_docker(engine.id_of_container(paths, seq), there, known),
        begun="begun_monotonic" in known,
        ready=bool(known.get("ready")),
        verdict=known.get("verdict"),
        reason=str(known.get("reason") or ""),
        run=_run_that_stops(paths),
        service_result=environ.get("SERVICE_RESULT", ""),
        main_code=environ.get("EXIT_CODE", ""),
        main_status=environ.get("EXIT_STATUS", ""),
        jobs=systemd.jobs(runner=there.runner),
        lasted=lasted,
        served=served,
    )


def with_evidence(seen: Seen, known: Mapping[str, Any]) -> Seen:
    """The scene with what was kept of the container since."""
    return replace(
        seen,
        exit_code=None if engine.never_began(str(known.get("container_started_at") or "")) else known.get("exit_code"),
        oom_killed=bool(known.get("oom_killed")),
        docker_error=str(known.get("docker_error") or seen.docker_error),
        first_error=str(known.get("first_error") or ""),
    )


def _run_that_stops(paths: Paths) -> str | None:
    """The run that ends the unit now; while one starts or proves it, somebody else does."""
    try:
        records = open_run(read_journal(paths).entries)
    except JournalError:
        return None
    return records[-1].run if records and records[-1].state in (STOPPED, ROLLING_BACK) else None


def _of_docker(container_id: str, there: Own, known: Mapping[str, Any]) -> Seen:
    if there.error:
        return Seen(docker_answers=False, docker_error=there.error)
    unit = systemd.show(DOCKER_UNIT, runner=there.runner)
    was = known.get("docker_invocation")
    return Seen(
        docker_is_the_same=not was or unit is None or unit.invocation_id == was,
        outlived_its_client=any(state.is_running for state in there.states),
        events=_events(container_id, known, there.runner),
    )


def _events(container_id: str, known: Mapping[str, Any], runner: Runner) -> Sequence[str]:
    """What was done to the container; an engine of the gate's is ended by the gate, which has said so."""
    began = known.get("begun_at")
    return containers.events(container_id, str(began), runner=runner) if container_id and began else ()


def _seconds(known: Mapping[str, Any], clock: Clock) -> tuple[float | None, float | None]:
    """Since it began, and since it was ready."""
    began, ready = known.get("begun_monotonic"), known.get("ready_seconds")
    if not isinstance(began, (int, float)):
        return None, None
    lasted = clock.monotonic() - began
    return lasted, max(lasted - ready, 0.0) if isinstance(ready, (int, float)) else None
