# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The containers of a service as the unit's verbs handle them: find, end, keep what they said, remove.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..io import container_processes, containers, earlier_secrets, starts
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.compile_cache import take_out_secrets
from ..io.files import link_name, read_if_there, write_atomic
from ..io.releases import read_record
from ..release.bounded import HeadTail
from ..release.files import to_json
from ..release.paths import LABEL_SERVICE, Paths
from ..release.record import RecordError
from ..release.redact import Redactor
from ..secrets_file import parse_secrets
from ..startup.parse import parse_startup_log
from .errors import ToolError

# A start that never became ready holds no request: it gets this long to end by itself.
SHORT_GRACE = 5.0
# How much of a start the journal is asked for where Docker has nothing any more.
JOURNAL_LINES = 20000
_LOOK = 0.1


def secrets_of(paths: Paths) -> dict[str, str]:
    """The secrets of the service; none when there is no file."""
    try:
        return parse_secrets(read_if_there(paths.secrets) or "")
    except ValueError as error:
        raise ToolError(f"{paths.secrets}: {error}; write it anew with deploy") from None


def redactor_of(paths: Paths) -> Redactor:
    """What takes the secrets of the service out of text, also those that its container was started with."""
    return Redactor(secrets_of(paths), earlier_secrets.read(paths))


def own_containers(paths: Paths, *, runner: Runner = run) -> list[containers.ContainerState]:
    """Every container of the service, running or not."""
    ids = containers.with_label(LABEL_SERVICE, paths.service, runner=runner)
    return [state for name in ids if (state := containers.inspect(name, runner=runner)) is not None]


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


def keep_evidence(paths: Paths, seq: int, raw_lines: Iterable[str], redactor: Redactor) -> dict[str, Any]:
    """Keep a log as the log of a start, without secrets but with their names, and what its start-up lines say."""
    kept = HeadTail()

    def lines() -> Iterator[str]:
        for raw in raw_lines:
            line = redactor.line(raw)
            kept.add(line)
            yield line

    source = lines()
    report = parse_startup_log(source)
    for _line in source:  # the parser may stop early; the log is kept to its end
        pass
    write_atomic(paths.start(seq) / "log", kept.text())
    write_atomic(paths.start(seq) / "startup.json", to_json(report.to_dict()))
    printed = {"printed_secrets": sorted(redactor.met)} if redactor.met else {}
    return {"first_error": report.first_error_line, "log_lines_left_out": kept.left_out, **printed}


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
        evidence = keep_evidence(paths, seq, containers.log_lines(state.id), redactor_of(paths))
        starts.update(paths, seq, {**fields, **evidence})
    containers.remove(state.id, runner=runner)


def clear(paths: Paths, *, runner: Runner = run) -> None:
    """End and remove every container that earlier starts left, and keep what each said; DockerError as it comes."""
    for state in own_containers(paths, runner=runner):
        ended = end(state, SHORT_GRACE, runner=runner)
        close_start(paths, start_of_container(paths, state.id), ended, runner=runner)


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
