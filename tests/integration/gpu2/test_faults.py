"""Engines that fail; people, programs and machines that are gone in mid-change: nothing is lost, nothing is left."""

from __future__ import annotations

import json
import time
from datetime import datetime

import pytest

from tests.integration.harness import Inventory, begin, end, service

HOST = "gpu2"
STATE = "/var/lib/gpuhosts-vllm/chat"
NO_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
FAILS_ONCE = {"STANDIN_EXIT_AT": "load", "STANDIN_ERROR": NO_MEMORY, "STANDIN_FAIL_STARTS": "1"}
SLOW = {"STANDIN_START_SECONDS": "12", "STANDIN_WARM_SECONDS": "12"}


@pytest.fixture
def make(tmp_path, lab, standin_lock):
    """Give a function that makes an inventory of one service with this environment, on an empty host."""
    lab[HOST].reset()

    def inventory(env=None, **changes):
        return Inventory.make(tmp_path, {"chat": service(env=env or {}, **changes)}, hosts=(HOST,), lock=standin_lock)

    return inventory


def journal(host):
    """The records of the service's journal."""
    return [json.loads(line) for line in host.run(f"cat {STATE}/journal.jsonl 2>/dev/null || true").splitlines()]


def start(host, number):
    """What the host kept of a start."""
    return json.loads(host.run(f"cat {STATE}/starts/{number}/state.json"))


def moment(text):
    """A time as Docker or the journal writes it."""
    return datetime.fromisoformat(text[:23].rstrip("Z") + "+00:00")


def until_starting(host, seconds=120):
    """Wait until the engine of a run loads."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        records = journal(host)
        if records and records[-1]["state"] == "starting" and host.run("docker ps -q"):
            return
        time.sleep(0.2)
    raise AssertionError(f"the run never came to a start: {journal(host)}")


def assert_nothing_is_left(host):
    assert host.run("systemctl is-active vllm-chat || true") == "inactive"
    assert host.run("docker ps -aq") == ""
    assert host.run(f"readlink {STATE}/current {STATE}/last_good || true") == ""


def assert_it_serves(host, starts):
    assert host.run("systemctl is-active vllm-chat") == "active"
    assert len(host.run("docker ps -aq").split()) == 1
    assert host.run(f"readlink {STATE}/current") == host.run(f"readlink {STATE}/last_good")
    assert host.run(f"ls {STATE}/starts").split() == [str(number + 1) for number in range(starts)]
    assert [journal(host)[-1][key] for key in ("state", "phase")] == ["committed", "done"]


def test_an_engine_that_dies_is_told_in_its_own_words_and_may_be_tried_again(make, lab):
    inventory = make(FAILS_ONCE)
    played = inventory.play("deploy")
    assert played.rc != 0
    assert "the engine ended after" in played.text and f"{NO_MEMORY} (start 1)" in played.text
    assert "-e vllm_retry=chat" in played.text
    assert_nothing_is_left(lab[HOST])
    known, records = start(lab[HOST], 1), journal(lab[HOST])
    ended = moment(known["container_finished_at"])
    assert (moment(known["verdict_at"]) - ended).total_seconds() <= 1.5
    assert (moment(records[-1]["at"]) - ended).total_seconds() <= 3.5
    assert NO_MEMORY in lab[HOST].run(f"cat {STATE}/starts/1/log")

    before = len(records)
    again = inventory.play("deploy")
    assert (again.rc != 0, again.changes(HOST)) == (True, 0), again.text
    assert NO_MEMORY in again.text and "-e vllm_retry=chat" in again.text
    assert len(journal(lab[HOST])) == before

    retried = inventory.play("deploy", vllm_retry="chat")
    assert retried.rc == 0, retried.text
    assert_it_serves(lab[HOST], starts=2)


def test_a_silent_engine_is_ended_and_another_definition_may_start(make, lab):
    silent = {"STANDIN_NEVER_READY": "1", "STANDIN_PROGRESS": "0"}
    played = make(silent, gate={"soak": "1s", "silence": "5s"}).play("deploy")
    assert played.rc != 0
    assert "no progress for 5 s at the stage 'loading weights'" in played.text
    assert_nothing_is_left(lab[HOST])
    changed = make().play("deploy")
    assert changed.rc == 0, changed.text
    assert_it_serves(lab[HOST], starts=2)


def test_a_run_needs_no_controller_and_a_second_one_follows_it(make, lab):
    inventory = make({**SLOW, "STANDIN_START_SECONDS": "40"})
    controller = begin(inventory, "deploy")
    until_starting(lab[HOST])
    end(controller)
    played = inventory.play("deploy")
    assert played.rc == 0, played.text
    assert "is under way: following it to its end" in played.text
    assert_it_serves(lab[HOST], starts=1)
    assert len({record["run"] for record in journal(lab[HOST])}) == 1


def test_a_driver_and_a_gate_that_are_killed_leave_no_engine_behind(make, lab):
    """The driver is replaced and goes on; a gate is the start's own, so the start ends with it, and at once."""
    inventory = make(SLOW)
    controller = begin(inventory, "deploy")
    until_starting(lab[HOST])
    lab[HOST].run("systemctl kill --signal KILL gpuhosts-vllm-run-chat")
    began = time.monotonic()
    assert lab[HOST].wait("systemctl is-active gpuhosts-vllm-run-chat", "active", seconds=10)
    lab[HOST].run("kill -9 $(pgrep -fx '.*python3.*vllm-host wait-ready chat' | head -1)")
    controller.wait(timeout=60)
    assert controller.returncode != 0
    assert time.monotonic() - began < 30
    assert_nothing_is_left(lab[HOST])
    assert start(lab[HOST], 1)["verdict"] == "cut_off"
    last = journal(lab[HOST])[-1]
    assert last["state"] == "rolled_back" and "the start was cut off" in last["message"]


def test_after_a_power_cut_in_mid_start_the_next_deploy_begins_anew(make, lab):
    inventory = make(SLOW)
    controller = begin(inventory, "deploy")
    until_starting(lab[HOST])
    end(controller)
    lab[HOST].power_cut()
    assert lab[HOST].wait("systemctl is-active docker", "active", seconds=60)
    assert lab[HOST].run("systemctl is-active vllm-chat || true") == "inactive"
    played = inventory.play("deploy")
    assert played.rc == 0, played.text
    assert_it_serves(lab[HOST], starts=2)
    records = journal(lab[HOST])
    assert len({record["run"] for record in records}) == 2
    ended = next(record for record in records if record["state"] == "rolled_back")
    assert ended["message"] == "the host restarted in the middle of the run", ended


def test_a_server_that_responds_is_not_a_server_that_serves(make, lab):
    played = make({"STANDIN_POST": "fail"}).play("deploy")
    assert played.rc != 0
    assert "claim_generates" in played.text
    assert_nothing_is_left(lab[HOST])
