# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who starts the server again, who ends it, and what is left when it died.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...findings import ERROR, INFO, WARNING
from ..case import Case
from ..rules.saying import Said, case_rule
from ..subject import COMPOSE, DOCKER_RUN
from .shown import SEEN, container, docker_runs, seconds, text, unit

_UNIT, _SERVICE = "systemd.unit(5)", "systemd.service(5)"
_DETACHED = re.compile(r"\s(-[itPq]*d[itPq]*|--detach(=true)?)(?=\s)")
_NOHUP = re.compile(
    r"\b(?:nohup|setsid)\s[^\n]*\b(?:vllm|docker)\b|\b(?:vllm\s+serve|api_server)\b[^\n&]*[^&>]&\s*$", re.MULTILINE
)


@case_rule("no_restart_policy", WARNING, "https://docs.docker.com/engine/containers/start-containers-automatically/")
def _policy(case: Case) -> Iterator[Said]:
    shown = container(case)
    if shown is None or (shown.restart or "no") != "no" or case.subject.unit is not None:
        return
    detached = case.subject.kind == DOCKER_RUN and any(_DETACHED.search(f"{run} ") for run in docker_runs(case))
    if (detached and not shown.remove) or case.subject.kind == COMPOSE:
        yield Said(
            "restart",
            "nothing starts the container again after a crash or a reboot",
            "add restart: unless-stopped (docker run: --restart unless-stopped), or run it from a systemd unit",
        )


@case_rule("docker_run_rm_loses_evidence", INFO, SEEN)
def _rm(case: Case) -> Iterator[Said]:
    shown = container(case)
    if shown is not None and shown.remove:
        yield Said(
            "--rm",
            "the container goes when it ends: exit code, OOM flag and log are gone when one needs them",
            "leave --rm out and remove the old container before the next start",
        )


@case_rule("nohup_without_supervisor", WARNING, SEEN)
def _nohup(case: Case) -> Iterator[Said]:
    if _NOHUP.search(text(case)):
        yield Said(
            "nohup",
            "the server runs in the background of a shell: nothing restarts it, stops it or keeps its log in bounds",
            "run it in the foreground of a systemd unit",
        )


@case_rule("start_limit_keys_in_service_section", WARNING, _UNIT)
def _section(case: Case) -> Iterator[Said]:
    names = [name for place, name, _value in unit(case).entries if place == "Service" and name.startswith("StartLimit")]
    for name in dict.fromkeys(names):
        if name not in {"StartLimitInterval", "StartLimitBurst", "StartLimitAction"}:  # these it takes there, as of old
            yield _misplaced(name)


def _misplaced(name: str) -> Said:
    return Said(
        f"{name}=",
        f"{name} stands in [Service], where systemd does not know it: it is ignored",
        f"move {name} to [Unit]",
        expected="[Unit]",
        observed="[Service]",
    )


@case_rule("no_start_limit_restart_loop", WARNING, f"{_UNIT} (StartLimitIntervalSec=), {_SERVICE} (RestartSec=)")
def _loop(case: Case) -> Iterator[Said]:
    shown = unit(case)
    if shown.last("Restart", "Service") not in {"always", "on-failure", "on-abnormal"}:
        return
    interval = seconds(shown.last("StartLimitIntervalSec", "Unit") or shown.last("StartLimitInterval"))
    burst = shown.last("StartLimitBurst") or "5"
    pause = seconds(shown.last("RestartSec", "Service"))
    interval, pause = 10.0 if interval is None else interval, 0.1 if pause is None else pause
    count = int(burst) if re.fullmatch(r"[0-9]{1,6}", burst) else 5
    # A start of vLLM that fails takes seconds by itself, so the default of 5 starts in 10 s is never reached.
    if interval == 0 or count == 0 or interval <= count * (pause + 2):
        yield Said(
            "StartLimitIntervalSec=",
            f"{count} starts in {interval:g} s is a limit that vLLM never reaches: a start that fails is repeated "
            "for ever, each time with all of the load",
            "in [Unit]: StartLimitIntervalSec=1800 and StartLimitBurst=5",
        )


@case_rule(
    "restart_on_failure_misses_exit_zero", WARNING, "vLLM 0.32.0: an engine killed after ready ends with status 0"
)
def _exit_zero(case: Case) -> Iterator[Said]:
    shown = unit(case)
    policy = shown.last("Restart", "Service")
    if (
        policy in {"on-failure", "on-abnormal", "on-abort"}
        and "0" not in (shown.last("RestartForceExitStatus") or "").split()
    ):
        yield Said(
            f"Restart={policy}",
            "a vLLM whose engine died exits 0: the unit stays down and systemctl --failed does not list it",
            "write Restart=always and SuccessExitStatus=143",
        )


@case_rule("execstop_negative_mainpid", WARNING, f"{_SERVICE} (ExecStop=); kill(1)")
def _negative(case: Case) -> Iterator[Said]:
    stops = [*unit(case).all("ExecStop", "Service"), *unit(case).all("ExecStopPost", "Service")]
    if any(re.search(r"\bkill\b.*\s['\"]?-\$\{?MAINPID\b", line) for line in stops):
        yield Said(
            "ExecStop=",
            "the process group of the main process is signalled: it may not exist (nothing is hit), or hold more",
            "leave ExecStop out and set KillMode=mixed: systemd signals the unit's own processes",
        )


@case_rule("sendsigkill_no_can_hang_stop", WARNING, "systemd.kill(5)")
def _sigkill(case: Case) -> Iterator[Said]:
    if (unit(case).last("SendSIGKILL", "Service") or "").lower() in {"no", "false", "off", "0"}:
        yield Said(
            "SendSIGKILL=no",
            "an engine that loads ignores SIGTERM: what is left after the timeout is never killed and keeps the GPU",
            "leave SendSIGKILL out and give TimeoutStopSec",
        )


@case_rule("exec_stop_only_cleanup", WARNING, f"{_SERVICE} (ExecStop=)")
def _cleanup(case: Case) -> Iterator[Said]:
    shown = unit(case)
    ends = re.compile(r"\b(?:docker|podman)\s+(?:container\s+)?(?:rm|stop|kill)\b")
    before = any(
        ends.search(line) for line in [*shown.all("ExecStartPre", "Service"), *shown.all("ExecStopPost", "Service")]
    )
    if any(ends.search(line) for line in shown.all("ExecStop", "Service")) and not before:
        yield Said(
            "ExecStop=",
            "ExecStop does not run when the start fails: an orphaned container keeps GPU, port and name",
            "remove the container in ExecStopPost=-/usr/bin/docker rm -f NAME",
        )


@case_rule("kills_foreign_gpu_processes", ERROR, SEEN)
def _foreign(case: Case) -> Iterator[Said]:
    query = r"nvidia-smi[^\n]*--query-compute-apps[^\n]*\bkill\b|\bkill\b[^\n]*nvidia-smi[^\n]*--query-compute-apps"
    if re.search(query + r"|\bfuser\b[^\n;&|]*\s-\w*k[^\n;&|]*/dev/nvidia", text(case)):
        yield Said(
            "kill",
            "every process that computes on a GPU of the host is killed, whosever it is",
            "end only the service's own container or unit: docker rm -f NAME",
        )


RULES = (_policy, _rm, _nohup, _section, _loop, _exit_zero, _negative, _sigkill, _cleanup, _foreign)
