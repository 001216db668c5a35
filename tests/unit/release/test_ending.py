# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Every ending of a start has its own name, and only the engine's own endings count against the start limit."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.ending import (
    ENDINGS,
    Seen,
    failure_text,
    first_failed_start,
    how_it_went,
    judge_ending,
    lost_with_its_host,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import StartState

UNIT = "vllm-chat.service"
READY = {"ready": True, "verdict": "ready", "lasted": 100.0, "served": 60.0}
DEAD = {"verdict": "dead", "reason": "the engine ended after 3.0 s", "lasted": 3.0}

# name of the ending, whether it is a fault, whether it counts, what was seen
TABLE = [
    ("host_stopping", False, False, {**READY, "jobs": {"halt.target": "start", UNIT: "stop"}}),
    ("docker_stopping", False, False, {**READY, "jobs": {"docker.service": "stop", UNIT: "stop"}}),
    ("docker_stopping", False, False, {"jobs": {"docker.service": "restart"}, "service_result": "signal"}),
    ("docker_lost", True, False, {**READY, "docker_answers": False, "docker_error": "Cannot connect"}),
    ("docker_lost", True, False, {**READY, "docker_is_the_same": False, "exit_code": 137}),
    ("docker_lost", True, False, {"jobs": {"docker.service": "restart", UNIT: "restart"}, "docker_answers": False}),
    ("stopped", False, False, {**READY, "jobs": {UNIT: "stop"}, "exit_code": 0}),
    ("stopped", False, False, {"jobs": {UNIT: "restart"}, "service_result": "signal", "outlived_its_client": True}),
    ("gate_silent", True, True, {"verdict": "silent", "reason": "no progress for 5 s", "events": ["kill 15", "die"]}),
    ("gate_late", True, True, {"verdict": "late", "reason": "not ready within 9 s", "exit_code": 137}),
    ("never_ran", True, True, {"verdict": "not_begun", "reason": "a container named vllm-chat is not of this service"}),
    ("never_ran", True, True, {"begun": False, "service_result": "signal"}),
    ("stopped", False, False, {"begun": False, "jobs": {UNIT: "stop"}, "service_result": "signal"}),
    ("never_ran", True, True, {**DEAD, "main_code": "exited", "main_status": "125"}),
    ("timed_out", True, True, {"service_result": "timeout", "outlived_its_client": True, "main_code": "killed"}),
    ("gate_killed", True, True, {"service_result": "signal", "outlived_its_client": True, "main_code": "killed"}),
    ("client_killed", True, True, {**DEAD, "outlived_its_client": True, "main_code": "killed", "main_status": "KILL"}),
    ("client_killed", True, True, {**READY, "outlived_its_client": True, "main_code": "killed", "main_status": "TERM"}),
    ("out_of_memory", True, True, {**READY, "exit_code": 137, "oom_killed": True, "events": ["oom", "die"]}),
    ("stopped_in_docker", True, False, {**READY, "exit_code": 0, "events": ["kill 15", "die", "stop"]}),
    ("stopped_in_docker", True, False, {**DEAD, "main_status": "137", "events": ["kill 9", "die", "destroy"]}),
    ("killed", True, True, {**READY, "exit_code": 137, "events": ["die"]}),
    ("killed", True, True, {**DEAD, "main_status": "137"}),
    ("engine_ended", True, True, {**READY, "exit_code": 0, "events": ["die"], "first_error": "EngineDeadError: x"}),
    ("engine_ended", True, True, {**DEAD, "exit_code": 1, "first_error": "ValueError: no such model"}),
]


@pytest.mark.parametrize(("name", "fault", "counts", "seen"), TABLE)
def test_every_ending_has_its_name(name, fault, counts, seen):
    ending = judge_ending(Seen(**seen), UNIT)
    assert (ending.id, ending.fault, ending.counts) == (name, fault, counts), ending
    assert ending.to_dict() == {"ending": name, "ending_reason": ending.reason, "fault": fault}


def test_every_name_is_in_the_table_but_the_one_that_is_noted_later():
    assert {name for name, *_rest in TABLE} == {*ENDINGS} - {"host_lost"}
    assert lost_with_its_host().to_dict()["ending"] == "host_lost"


def test_a_sentence_says_who_when_and_the_first_error():
    died = judge_ending(Seen(**READY, exit_code=0, first_error="EngineDeadError: x"), UNIT)
    assert died.reason == (
        "the engine ended by itself (exit code 0; vLLM ends so when its engine process died), "
        "60 s after it became ready: EngineDeadError: x"
    )
    hand = judge_ending(Seen(**READY, jobs={UNIT: "stop"}), UNIT)
    assert hand.reason == "somebody stopped or restarted vllm-chat.service, 60 s after it became ready"
    run = judge_ending(Seen(**READY, jobs={UNIT: "stop"}, run="stop-1"), UNIT)
    assert run.reason.startswith("the run stop-1 stopped it")
    early = judge_ending(Seen(jobs={UNIT: "stop"}, lasted=4.0), UNIT)
    assert early.reason.endswith("4 s after it began, before it was ready")


def start(seq, fault, **data):
    return StartState(seq, data={"seq": seq, "ending": "engine_ended", "fault": fault, **data})


@pytest.mark.parametrize(
    ("starts", "first"),
    [
        ([], None),
        ([start(1, False)], None),
        ([start(1, True)], 1),
        ([start(1, False), start(2, True), start(3, True)], 2),
        ([start(1, True), start(2, False)], None),
        ([start(1, True), start(2, True, served_seconds=86400), start(3, True)], 2),
        ([start(1, True), start(2, True), StartState(3, data={"seq": 3})], 1),
        ([start(1, True), start(2, True, ending="docker_lost"), start(3, True), start(4, True)], 3),
        ([start(1, False), start(2, True, ending="docker_lost"), start(3, True, ending="docker_lost")], 2),
    ],
)
def test_the_first_of_a_row_of_failures_has_the_cause(starts, first):
    found = first_failed_start(starts)
    assert (found.seq if found else None) == first


def test_a_start_in_one_line():
    assert how_it_went({}) == "on its way"
    assert how_it_went({"ready": True, "reason": "ready after 3.0 s"}) == "ready after 3.0 s"
    dead = {"verdict": "dead", "reason": "the engine ended: ValueError", "ending_reason": "the engine ended by itself"}
    assert failure_text(dead) == "the engine ended: ValueError"
    assert failure_text({**dead, "ready": True}) == "the engine ended by itself"
    assert failure_text({**dead, "verdict": "cut_off"}) == "the engine ended by itself"
    assert how_it_went({**dead, "ended_at": "t", "ending": "engine_ended"}) == (
        "ended t: the engine ended: ValueError (engine_ended)"
    )
