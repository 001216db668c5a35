# SPDX-License-Identifier: Apache-2.0
"""Whether every start of a service left what people need to know: how it ended, why, and what it said."""

from __future__ import annotations

import json
from typing import Any

ENDINGS = {
    "stopped", "docker_stopping", "host_stopping", "host_lost", "docker_lost", "stopped_in_docker", "client_killed",
    "out_of_memory", "killed", "engine_ended", "never_ran", "gate_silent", "gate_late", "gate_killed", "timed_out",
}  # fmt: skip
SAYS_NOTHING = "see root cause above"


def judge(name: str, service: dict[str, Any], unit: dict[str, str], *, open_run: bool) -> list[str]:
    """Say what is missing; the newest start of a unit that is up has not ended."""
    found = []
    numbers = sorted(int(number) for number in service["starts"] if number.isdigit())
    strange = sorted(set(service["starts"]) - {str(number) for number in numbers})
    found += [f"starts/{each} is not the number of a start" for each in strange]
    if numbers and numbers != list(range(numbers[0], numbers[-1] + 1)):
        found.append(f"starts are missing: there are {numbers}")
    going_on = numbers[-1:] if unit["ActiveState"] == "active" or (open_run and service["run"]) else []
    for number in numbers:
        kept = service["starts"][str(number)]
        lines = _judge_start(name, number, kept, is_over=number not in going_on)
        found += [f"start {number}: {line}" for line in lines]
    return found


def _judge_start(name: str, number: int, kept: dict[str, Any], *, is_over: bool) -> list[str]:
    try:
        state = json.loads(kept["state"] or "")
    except ValueError:
        return ["its state.json is missing or no JSON"]
    found = []
    if (state.get("seq"), state.get("service")) != (number, name):
        found.append(f"its state.json is of {state.get('service')} {state.get('seq')}")
    if state.get("ready") and not kept["files"].get("startup.json"):
        found.append("became ready and has no startup.json")
    return [*found, *(_judge_ending(state, kept["files"]) if is_over else _judge_going_on(state))]


def _judge_going_on(state: dict[str, Any]) -> list[str]:
    return [f"is the one that runs, and has an ending: {state['ending']}"] if state.get("ending") else []


def _judge_ending(state: dict[str, Any], files: dict[str, int]) -> list[str]:
    found = []
    if not state.get("ended_at"):
        found.append("is over and has no ended_at")
    if state.get("ending") not in ENDINGS:
        found.append(f"its ending is {state.get('ending')!r}, none of the endings that there are")
    if not str(state.get("ending_reason") or "").strip():
        found.append("has no ending_reason")
    if not isinstance(state.get("fault"), bool):
        found.append(f"its fault is {state.get('fault')!r}, neither true nor false")
    if state.get("fault"):
        said = [str(state.get(key) or "") for key in ("reason", "ending_reason", "first_error")]
        found += [f"its reason sends people elsewhere: {text}" for text in said if SAYS_NOTHING in text.lower()]
    found += [f"is over, and {name} is still there" for name in ("log.part", "log.new") if name in files]
    if {"log", "log.gz"} <= set(files):
        found.append("kept its log twice")
    return found + _judge_container(state, files)


def _judge_container(state: dict[str, Any], files: dict[str, int]) -> list[str]:
    """A container that was seen to end left its exit status, whether memory ran out, and its log."""
    if not state.get("container_id") or state.get("evidence_error"):
        return []
    found = [f"had a container and has no {key}" for key in ("exit_code", "oom_killed") if state.get(key) is None]
    began = not str(state.get("container_started_at") or "").startswith("0001-")  # Docker's word for never
    # What goes down with its host, or is killed for memory at once, may have been on its way to its first line.
    silent = state.get("ending") in ("never_ran", "host_lost", "out_of_memory") or _stopped_before_a_word(state)
    if began and not silent and not (files.get("log") or files.get("log.gz")):
        found.append("had a container and kept no log")
    return found


def _stopped_before_a_word(state: dict[str, Any]) -> bool:
    """Whether somebody stopped it before it was ready, and Docker's own log of it, read to its end, has no line."""
    return state.get("ending") == "stopped" and not state.get("ready") and state.get("log_lines") == 0
