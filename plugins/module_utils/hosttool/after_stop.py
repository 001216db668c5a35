# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""ExecStopPost: runs at every ending of a start, also when the gate failed. Names and keeps it; leaves no container.

Private to the collection.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..io import containers, earlier_secrets, starts, systemd
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import remove
from ..release.ending import Seen, judge_ending
from ..release.paths import Paths
from ..release.why import why_lines
from . import engine, scene
from .keeping import keep, keep_left, note
from .say import complain
from .service_args import parser, paths_of
from .stop_engine import gate_of_current

GONE = "its container was gone: the exit code is its client's, and the log ends where the gate stopped reading"


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
    if seq is None:
        return not _leave_nothing(paths, None, runner)
    note(paths, seq, {"ended_at": clock.now(), **_of_systemd(environ)})
    there = scene.own(paths, runner)
    seen = scene.look(paths, seq, there, environ, clock)
    had_container = bool(engine.id_of_container(paths, seq))
    error = _leave_nothing(paths, seq, runner, there)
    if error:  # the next before-start keeps what can still be kept, and removes the container
        engine.end_without_docker(engine.id_of_container(paths, seq), engine.SHORT_GRACE, clock=clock)
    if not error and "exit_code" not in starts.read(paths, seq):
        note(paths, seq, _without_container(paths, seq, seen) if had_container else _never_made(paths, seq, runner))
    if error:
        note(paths, seq, {"evidence_error": error})
    _name(paths, seq, seen, runner)
    engine.clean_cache(paths)
    if not error:
        earlier_secrets.forget(paths)
    return not error


def finish_forgotten(paths: Paths, *, runner: Runner = run, clock: Clock = CLOCK) -> None:
    """End the newest start that nobody ended: who kills all processes of a unit kills this verb too."""
    seq = starts.latest(paths)
    known = starts.read(paths, seq) if seq is not None else {}
    if "ending" not in known and known.get("gpus") is not None:  # older tools named no endings
        killed = {"EXIT_CODE": "killed", "EXIT_STATUS": "KILL"}
        finish(
            paths,
            environ={"INVOCATION_ID": str(known.get("invocation_id") or ""), **killed},
            runner=runner,
            clock=clock,
        )


def _start(paths: Paths, environ: Mapping[str, str]) -> int | None:
    """The start that ends: the one of this invocation; by hand, the newest one that has no ending yet."""
    if environ.get("INVOCATION_ID"):
        return starts.of_invocation(paths, environ["INVOCATION_ID"])
    seq = starts.latest(paths)
    return seq if seq is not None and "ended_at" not in starts.read(paths, seq) else None


def _of_systemd(environ: Mapping[str, str]) -> dict[str, str]:
    names = {"SERVICE_RESULT": "service_result", "EXIT_CODE": "main_code", "EXIT_STATUS": "main_status"}
    return {key: environ[name] for name, key in names.items() if name in environ}


def _leave_nothing(paths: Paths, seq: int | None, runner: Runner, there: scene.Own | None = None) -> str:
    """End, keep and remove every container of the service; what Docker said when it did not let us.

    ``there``: what was found a moment ago. Where it is the one container that can have the name, asking again would be
    downtime for nothing; where there was none, one that was just being made is there now.
    """
    try:
        found = there.states if there is not None else ()
        for state in found or engine.own_containers(paths, runner=runner):
            ended = engine.end(state, _grace(paths, seq, state), runner=runner)
            engine.close_start(paths, _owner(paths, seq, state), ended, runner=runner)
    except containers.DockerError as error:
        return f"Docker did not answer: {error}"
    remove(paths.cid)
    return ""


def _without_container(paths: Paths, seq: int, seen: Seen) -> dict[str, Any]:
    """Somebody removed the container with its log: what the gate has kept is the evidence, and its client's status."""
    fields = keep_left(paths, seq)
    if seen.main_code == "exited" and seen.main_status.isdigit():
        fields["exit_code"] = int(seen.main_status)
    return {**fields, "evidence_error": GONE}


def _never_made(paths: Paths, seq: int, runner: Runner) -> dict[str, Any]:
    """The exit status is not an engine's, and the log is what Docker's client has said, if it came so far."""
    known = starts.read(paths, seq)
    said = systemd.said_by_main(str(known.get("invocation_id") or ""), runner=runner)
    useful = [line for line in said if not line.startswith(("See 'docker", "Run 'docker"))]
    return {"docker_error": " ".join(useful[-3:]), **keep(paths, seq, useful)} if useful else {}


def _name(paths: Paths, seq: int, seen: Seen, runner: Runner) -> None:
    """Write the ending down; one that is not the engine's doing is taken off the unit's count of starts."""
    known = starts.read(paths, seq)
    ending = judge_ending(scene.with_evidence(seen, known), paths.unit)
    served = {} if seen.served is None else {"served_seconds": round(seen.served, 1)}
    note(paths, seq, {**ending.to_dict(), **served, **ending.missing_verdict(known)})
    complain(f"{paths.service}: start {seq} ended: {ending.reason} ({ending.id})")
    for line in _why(paths, seq) if ending.fault else ():
        complain(f"  {line}")
    if not ending.counts:
        systemd.reset_failed(paths.unit, runner=runner)


def _why(paths: Paths, seq: int) -> Sequence[str]:
    """The diagnosis; a stop on purpose does not wait for what reads one."""
    from ..io.diagnoses import diagnosis  # noqa: PLC0415

    finding = diagnosis(paths, seq)
    return why_lines(finding) if finding else ()


def _grace(paths: Paths, seq: int | None, state: containers.ContainerState) -> float:
    """A container can outlive its main process when its docker client was killed; served ones get their own grace.

    One that was started again since it was ready (`docker restart`) loads: it holds no request, and ignores SIGTERM.
    """
    known = starts.read(paths, seq) if seq is not None else {}
    loads_again = state.started_at > str(known.get("ready_at") or "~")
    served = known.get("ready") and not loads_again
    return gate_of_current(paths).stop_grace_seconds if served else engine.SHORT_GRACE


def _owner(paths: Paths, seq: int | None, state: containers.ContainerState) -> int | None:
    """The start to keep the evidence under: this one, unless the container is known to be of another."""
    known = engine.start_of_container(paths, state.id)
    if known is not None:
        return known
    return seq if seq is not None and "container_id" not in starts.read(paths, seq) else None
