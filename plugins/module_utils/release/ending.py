# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Name the ending of a start from what could be seen of it: by whom or by what it ended, and if that was a fault.

The order of the rules is the order of what is certain: who stops a host or Docker stops everything in it, and what
systemd was asked to do says more than the exit code that came of it: a server that was asked to end and one whose
engine died both exit 0. A stop job lasts until the last of the unit's commands has ended, so it is still seen here.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .gate import CANCELLED, CUT_OFF, LATE, NOT_BEGUN, SILENT
from .service_state import StartState

STOPPED = "stopped"
DOCKER_STOPPING = "docker_stopping"
HOST_STOPPING = "host_stopping"
HOST_LOST = "host_lost"
DOCKER_LOST = "docker_lost"
STOPPED_IN_DOCKER = "stopped_in_docker"
CLIENT_KILLED = "client_killed"
OUT_OF_MEMORY = "out_of_memory"
KILLED = "killed"
ENGINE_ENDED = "engine_ended"
NEVER_RAN = "never_ran"
GATE_SILENT = "gate_silent"
GATE_LATE = "gate_late"
GATE_KILLED = "gate_killed"
TIMED_OUT = "timed_out"

ENDINGS = (
    *(STOPPED, DOCKER_STOPPING, HOST_STOPPING, HOST_LOST, DOCKER_LOST, STOPPED_IN_DOCKER, CLIENT_KILLED),
    *(OUT_OF_MEMORY, KILLED, ENGINE_ENDED, NEVER_RAN, GATE_SILENT, GATE_LATE, GATE_KILLED, TIMED_OUT),
)

# Somebody wanted these: no fault, and the unit's start limit is for others.
WANTED = (STOPPED, DOCKER_STOPPING, HOST_STOPPING)
# What ends with its host or its Docker is not to blame either: each of them has a limit of its own.
NOT_ITS_DOING = (*WANTED, HOST_LOST, DOCKER_LOST, STOPPED_IN_DOCKER)

# One that served this long had recovered: a failure after it begins a new row.
SERVED_LONG = 600.0

_KILL = 128 + 9  # what Docker says of SIGKILL
_STOP_JOBS = ("stop", "restart", "try-restart")
_HOST_ENDS = (
    "shutdown.target",
    "reboot.target",
    "poweroff.target",
    "halt.target",
    "kexec.target",
    "soft-reboot.target",
)
_IN_DOCKER = ("kill", "stop", "destroy", "restart")


@dataclass(frozen=True)
class Seen:
    """What could be seen of a start at its ending.

    ``begun`` is False until it is its turn on its GPUs. ``jobs`` are systemd's jobs by unit; ``events`` are Docker's
    actions on the container; ``exit_code`` is None where there is no container. ``lasted`` and ``served`` are seconds
    since it began and since it was ready.
    """

    begun: bool = True
    ready: bool = False
    verdict: str | None = None
    reason: str = ""
    run: str | None = None
    service_result: str = ""
    main_code: str = ""
    main_status: str = ""
    docker_answers: bool = True
    docker_is_the_same: bool = True
    docker_error: str = ""
    exit_code: int | None = None
    oom_killed: bool = False
    outlived_its_client: bool = False
    first_error: str = ""
    lasted: float | None = None
    served: float | None = None
    jobs: Mapping[str, str] = field(default_factory=dict)
    events: Sequence[str] = ()


@dataclass(frozen=True)
class Ending:
    """How a start ended: an id of the closed list, and a sentence for people."""

    id: str
    reason: str

    @property
    def fault(self) -> bool:
        """Whether nobody had wanted it."""
        return self.id not in WANTED

    @property
    def counts(self) -> bool:
        """Whether it counts against the unit's start limit."""
        return self.id not in NOT_ITS_DOING

    def to_dict(self) -> dict[str, Any]:
        """What ``state.json`` keeps."""
        return {"ending": self.id, "ending_reason": self.reason, "fault": self.fault}

    def missing_verdict(self, known: Mapping[str, Any]) -> dict[str, Any]:
        """The verdict on a start whose gate never gave one: it was killed with the start, or by somebody."""
        if "verdict" in known or known.get("ready"):
            return {}
        return {"ready": False, "verdict": CUT_OFF, "reason": f"the start was cut off: {self.reason}"}


def judge_ending(seen: Seen, unit: str) -> Ending:
    """The ending of a start of ``unit``."""
    rules = (_of_the_host, _of_docker, _of_the_unit, _of_the_gate, _of_the_client, _of_the_engine)
    found, why = next(filter(None, (rule(seen, unit) for rule in rules)))
    return Ending(found, f"{why}{_when(seen)}{_cause(found, seen)}")


def lost_with_its_host() -> Ending:
    """The ending of a start whose boot is over, when nobody was left to note one."""
    return Ending(HOST_LOST, "the host went down without stopping its services (power cut, crash or reset)")


def first_failed_start(starts: Sequence[StartState]) -> StartState | None:
    """The start that the newest row of failures began with: its evidence is the one that says why.

    None when the newest start that has ended was no failure. What ended with its host or its Docker before the row is
    no part of it: that is not why an engine fails.
    """
    first = None
    for start in reversed(starts):
        if "ending" not in start.data:
            continue
        if not start.data.get("fault") or (first and _its_doing(first) and not _its_doing(start)):
            break
        first = start
        if (start.data.get("served_seconds") or 0.0) >= SERVED_LONG:
            break
    return first


def _its_doing(start: StartState) -> bool:
    return start.data["ending"] not in NOT_ITS_DOING


def failure_text(known: Mapping[str, Any]) -> str:
    """Why a start failed, in one sentence: its gate's own verdict says it best, then how it ended."""
    gate_said = not known.get("ready") and known.get("verdict") not in (None, CUT_OFF)
    return str((known.get("reason") if gate_said else None) or known.get("ending_reason") or "no reason was kept")


def how_it_went(known: Mapping[str, Any]) -> str:
    """A start in one line: on its way, serving, or how it ended."""
    if not known.get("ended_at"):
        return str(known.get("reason") or "on its way")
    said = failure_text(known)
    return f"ended {known['ended_at']}: {said}" + (f" ({known['ending']})" if known.get("ending") else "")


def host_stops(jobs: Mapping[str, str]) -> bool:
    """Whether systemd, with these jobs, is about to end everything: what fails meanwhile says nothing."""
    return any(jobs.get(name) == "start" for name in _HOST_ENDS)


def _of_the_host(seen: Seen, _unit: str) -> tuple[str, str] | None:
    if host_stops(seen.jobs):
        return HOST_STOPPING, "the host was shut down or restarted"
    return None


def _of_docker(seen: Seen, _unit: str) -> tuple[str, str] | None:
    """An orderly stop ends services first, while Docker answers; the restart of a Docker that died is a job too."""
    if not seen.docker_answers:
        return DOCKER_LOST, f"Docker ended or does not answer ({seen.docker_error or 'no reason given'})"
    if seen.jobs.get("docker.service") in _STOP_JOBS:
        return DOCKER_STOPPING, "Docker was stopped or restarted (systemctl, or an upgrade of its package)"
    if not seen.docker_is_the_same:
        return DOCKER_LOST, "Docker ended unasked and was started anew while it ran"
    return None


def _of_the_unit(seen: Seen, unit: str) -> tuple[str, str] | None:
    if seen.jobs.get(unit) not in _STOP_JOBS and seen.verdict != CANCELLED:
        return None
    return STOPPED, f"the run {seen.run} stopped it" if seen.run else f"somebody stopped or restarted {unit}"


def _of_the_gate(seen: Seen, _unit: str) -> tuple[str, str] | None:
    if seen.verdict in (SILENT, LATE):
        return (GATE_SILENT if seen.verdict == SILENT else GATE_LATE), seen.reason
    if seen.verdict == NOT_BEGUN:
        return NEVER_RAN, seen.reason
    if not seen.begun:
        said = f" (systemd says: {seen.service_result})" if seen.service_result else ""
        return NEVER_RAN, f"vllm-host before-start was killed{said}, so there was no container yet"
    if seen.service_result == "timeout":
        return TIMED_OUT, "systemd's own limit ended it: its gate had not answered for too long"
    return None


def _of_the_client(seen: Seen, _unit: str) -> tuple[str, str] | None:
    """The main process of the unit is Docker's client; what it starts can outlive it, or never come.

    When the gate dies, systemd ends the client: so a verdict, or that it was ready, tells who died first.
    """
    if seen.outlived_its_client and not seen.ready and seen.verdict is None:
        return GATE_KILLED, "its gate was killed, so nobody could say if it would serve"
    if seen.outlived_its_client and seen.main_code in ("killed", "dumped"):
        return CLIENT_KILLED, f"Docker's client was killed (SIG{seen.main_status}) while its container went on"
    ran = any(event.split()[0] in ("start", *_IN_DOCKER) for event in seen.events)
    if seen.exit_code is None and not ran and seen.main_status in ("125", "126", "127"):
        return NEVER_RAN, f"Docker did not run the container ({seen.docker_error or f'exit {seen.main_status}'})"
    return None


def _of_the_engine(seen: Seen, _unit: str) -> tuple[str, str]:
    if seen.oom_killed:
        return OUT_OF_MEMORY, "the kernel killed it for memory"
    how = [event for event in seen.events if event.split()[0] in _IN_DOCKER]
    if how:
        return STOPPED_IN_DOCKER, f"somebody stopped its container past systemd (docker: {', '.join(how)})"
    code = str(seen.main_status if seen.exit_code is None else seen.exit_code) or "unknown"
    if code == str(_KILL):
        return KILLED, "a SIGKILL from outside ended it (exit code 137, not for memory)"
    hint = "; vLLM ends so when its engine process died" if code == "0" else ""
    return ENGINE_ENDED, f"the engine ended by itself (exit code {code}{hint})"


def _when(seen: Seen) -> str:
    if seen.served is not None:
        return f", {seen.served:.0f} s after it became ready"
    if seen.ready or seen.lasted is None or seen.verdict in (SILENT, LATE, NOT_BEGUN):  # their own words say when
        return ""
    return f", {seen.lasted:.0f} s after it began, before it was ready"


def _cause(found: str, seen: Seen) -> str:
    """The engine's first error, where the engine had a part in it and the sentence has not said it yet."""
    says_why = found in (OUT_OF_MEMORY, KILLED, ENGINE_ENDED)
    return f": {seen.first_error}" if says_why and seen.first_error else ""
