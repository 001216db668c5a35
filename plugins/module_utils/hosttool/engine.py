# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The containers of a service as the unit's verbs handle them: find, end, keep what they said, remove.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from ..io import container_processes, containers, starts
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.compile_cache import take_out_secrets
from ..io.files import link_name, read_if_there
from ..io.releases import read_record
from ..release.paths import LABEL_SERVICE, Paths
from ..release.record import RecordError
from .keeping import keep, note, redactor_of

# A start that never became ready holds no request: it gets this long to end by itself.
SHORT_GRACE = 5.0
_LOOK = 0.1


def own_containers(paths: Paths, *, runner: Runner = run) -> list[containers.ContainerState]:
    """Every container of the service, running or not."""
    ids = containers.with_label(LABEL_SERVICE, paths.service, runner=runner)
    seen = (containers.inspect(name, awake=True, runner=runner) for name in ids)
    return [state for state in seen if state is not None]


def end(state: containers.ContainerState, grace: float, *, runner: Runner = run) -> containers.ContainerState:
    """End a container that still runs, and look at it again."""
    if not state.is_running:
        return state
    containers.stop(state.id, grace, runner=runner)
    return containers.inspect(state.id, runner=runner) or state


def end_without_docker(container_id: str, grace: float, *, clock: Clock = CLOCK) -> None:
    """End the processes of a container whose Docker is gone: it would serve on with nobody who watches it.

    Docker, when it is back, has its log and notes how it ended.
    """
    processes = container_processes.of_container(container_id)
    container_processes.ask_to_end(processes)
    until = clock.monotonic() + grace
    while processes and clock.monotonic() < until:
        clock.sleep(_LOOK)
        processes = container_processes.of_container(container_id)
    container_processes.kill(processes)


def clean_cache(paths: Paths) -> None:
    """Take secrets out of what the engine of the current release noted beside its compile cache."""
    release_id = link_name(paths.current)
    try:
        record = read_record(paths, release_id) if release_id else None
    except (RecordError, ValueError):  # an edited record is named by whoever runs it
        record = None
    if record is not None:
        take_out_secrets(paths.compile_cache(record.host.image_id, record.host.uid), redactor_of(paths))


def close_start(paths: Paths, seq: int | None, state: containers.ContainerState, *, runner: Runner = run) -> None:
    """Note how a container ended, keep its evidence under its start when that is known, and remove it."""
    if seq is not None:
        fields: dict[str, Any] = {
            "container_id": state.id,
            "exit_code": state.exit_code,
            "oom_killed": state.oom_killed,
            "docker_error": state.error or None,
            "container_started_at": state.started_at,
            "container_finished_at": state.finished_at,
        }
        # Docker's word is all that there is of a container that it could not start.
        failed = [f"docker: Error response from daemon: {state.error}"] if never_began(state.started_at) else []
        evidence = keep(paths, seq, failed if state.error and failed else containers.log_lines(state.id))
        note(paths, seq, {**fields, **evidence})
    containers.remove(state.id, runner=runner)


def never_began(started_at: str) -> bool:
    """Whether Docker's time of a container's begin says that there was none."""
    return started_at.startswith("0001-")


def clear(paths: Paths, *, runner: Runner = run) -> bool:
    """End and remove every container that earlier starts left, and keep what each said; DockerError as it comes.

    Whether there was one.
    """
    found = own_containers(paths, runner=runner)
    for state in found:
        ended = end(state, SHORT_GRACE, runner=runner)
        close_start(paths, start_of_container(paths, state.id), ended, runner=runner)
    return bool(found)


def id_of_container(paths: Paths, seq: int) -> str:
    """The container of a start as it was noted, else the one that Docker's client wrote down; empty for none."""
    return str(starts.read(paths, seq).get("container_id") or "") or (read_if_there(paths.cid) or "").strip()


def start_of_container(paths: Paths, container_id: str) -> int | None:
    """The number of the start that made this container, when its evidence was not kept yet."""
    for seq in reversed(starts.numbers(paths)):
        known = starts.read(paths, seq)
        if known.get("container_id") == container_id:
            return None if "exit_code" in known else seq
    return None
