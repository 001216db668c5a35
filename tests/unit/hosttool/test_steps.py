# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of a run on a folder that stands for a host, with a systemd that answers as told."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Listener
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import before_start, proving, staging, stopping
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import preflight as preflight_module
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.staging import stage
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.starting import start
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.switching import commit, roll_back, switch
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result, run
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import link_name, make_folder, switch_link
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry


class FastClock(Clock):
    """Sleeping takes no time, but the clock goes on."""

    passed = 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


class Host:
    """systemd of a pretended host; everything else is asked of the real runner."""

    def __init__(self):
        self.active, self.invocation, self.load = "inactive", "", "loaded"
        self.asked = []
        self.on_start = lambda: Result((), 0, "", "")
        self.stops = True

    def __call__(self, argv, **more):
        if argv[0] != "systemctl":
            return run(argv, **more)
        self.asked.append(argv[1])
        if argv[1] == "start":
            return self.on_start()
        if argv[1] == "stop" and self.stops:
            self.active = "inactive"
        lines = [f"LoadState={self.load}", f"ActiveState={self.active}", f"InvocationID={self.invocation}", "MainPID=1"]
        return Result(tuple(argv), 0, "\n".join(lines), "")


@pytest.fixture
def host():
    return Host()


@pytest.fixture
def context(paths, record, host, docker):
    """A run of a kind about the staged release."""

    def made(kind="first_start", previous=None, was_stopped=False, found=None):
        data = {"previous": previous, "was_stopped": was_stopped}
        opened = Entry("t", "r1", kind, "staged", DONE, record.id, by="ada", data=data)
        records = (opened, Entry("t", "r1", kind, "starting", DONE, record.id, data=found or {}))
        return Context(paths, opened, records, host, FastClock())

    return made


def test_a_preflight_names_what_is_missing(context, host, docker, paths, monkeypatch):
    monkeypatch.setattr(before_start, "listeners", lambda: [Listener("0.0.0.0", 8000, 7, "nginx")])
    monkeypatch.setattr(preflight_module.containers, "image_present", lambda _image, runner: True)
    with pytest.raises(StepFailed, match=r"port 8000 on 0.0.0.0 is held by nginx \(pid 7\); stop it"):
        preflight_module.preflight(context())
    monkeypatch.setattr(before_start, "listeners", list)
    said = 'could not select device driver "" with capabilities: [[gpu]]'
    monkeypatch.setattr(preflight_module.containers, "run_probe", lambda _argv, runner: said)
    with pytest.raises(StepFailed, match=r"could not select device driver .* install the NVIDIA container toolkit"):
        preflight_module.preflight(context())
    monkeypatch.setattr(preflight_module.containers, "run_probe", lambda _argv, runner: None)
    done = preflight_module.preflight(context())
    assert "are there" in done.message
    assert [each["id"] for each in done.data["warnings"]] == ["image_options_unread"]
    monkeypatch.setattr(preflight_module.containers, "image_present", lambda _image, runner: False)
    with pytest.raises(StepFailed, match="is not on this host; pull it with deploy"):
        preflight_module.preflight(context())
    host.load = "masked"
    with pytest.raises(StepFailed, match=r"systemd says masked; on the host: systemctl unmask vllm-chat\.service"):
        preflight_module.preflight(context())
    host.load = "not-found"
    with pytest.raises(StepFailed, match="systemd says not-found; install it with deploy"):
        preflight_module.preflight(context())
    assert preflight_module.preflight(context("stop")).message == ""


def test_a_release_that_was_edited_is_not_started(context, paths, record):
    path = paths.release(record.id) / "release.json"
    path.write_text(path.read_text().replace('"port": 8000', '"port": 8001'))
    with pytest.raises(StepFailed, match="it was edited"):
        switch(context())


def test_switch_and_take_back_a_first_start(context, paths, record, docker, host):
    paths.current.unlink()
    switch(context())
    assert link_name(paths.current) == record.id
    docker.make("c1", Status="exited")
    host.active = "activating"
    roll_back(context())
    assert link_name(paths.current) is None and not paths.stopped.exists()
    assert docker.left == [] and host.asked.count("stop") == 1
    assert "reset-failed" in host.asked


def test_what_was_taken_back_cannot_start_even_when_docker_does_not_answer(context, paths, docker, host):
    (docker.folder / "down").touch()
    host.active = "failed"
    with pytest.raises(StepFailed, match="its container may be left: Cannot connect"):
        roll_back(context())
    assert link_name(paths.current) is None
    assert "reset-failed" in host.asked


def test_switch_and_take_back_a_start_of_a_stopped_service(context, paths, record):
    paths.stopped.write_text("x")
    started = context("start", previous=record.id, was_stopped=True)
    switch(started)
    assert not paths.stopped.exists()
    roll_back(started)
    assert link_name(paths.current) == record.id and paths.stopped.exists()


def test_a_unit_that_does_not_stop_fails_the_rollback(context, host):
    host.active, host.stops = "deactivating", False
    with pytest.raises(StepFailed, match="it is deactivating"):
        roll_back(context())


def test_a_start_is_recorded_as_what_must_still_be_true(context, paths, host):
    def began():
        starts.begin(paths, {"invocation_id": "i1"})
        starts.update(
            paths, 1, {"ready": True, "container_id": "c1", "ready_seconds": 4.5, "reason": "ready after 4.5 s"}
        )
        host.active, host.invocation = "active", "i1"
        return Result((), 0, "", "")

    host.on_start = began
    outcome = start(context())
    assert outcome.data == {"seq": 1, "invocation_id": "i1", "container_id": "c1", "seconds": 4.5}
    assert host.asked[:2] == ["show", "reset-failed"]


def test_a_start_that_somebody_restarted_is_named_beside_the_one_that_serves(context, paths, host):
    def restarted():
        starts.begin(paths, {"invocation_id": "i1"})
        starts.update(paths, 1, {"ending": "stopped", "ending_reason": "somebody restarted it"})
        starts.begin(paths, {"invocation_id": "i2"})
        starts.update(paths, 2, {"ready": True, "container_id": "c2", "reason": "ready after 4.5 s"})
        host.active, host.invocation = "active", "i2"
        return Result((), 0, "", "")

    host.on_start = restarted
    outcome = start(context())
    assert outcome.message == (
        "ready after 4.5 s; start 1, which this run had begun, ended before: somebody restarted it"
    )
    assert outcome.data["seq"] == 2


def test_the_first_failed_start_says_why(context, paths, host):
    def crash_loop():
        for number in (1, 2):
            starts.begin(paths, {"invocation_id": f"i{number}"})
            starts.update(paths, number, {"ready": False, "verdict": "dead", "reason": f"cause {number}"})
        host.active = "failed"
        return Result((), 1, "", "Job for vllm-chat.service failed.")

    host.on_start = crash_loop
    with pytest.raises(StepFailed, match=r"cause 1 \(start 1\)") as caught:
        start(context())
    assert caught.value.data == {"seq": 1, "verdict": "dead"}


def test_a_start_that_a_killed_driver_began_says_why_too(context, paths, host):
    run = context().opening.run
    starts.begin(paths, {"invocation_id": "i0", "run": "an earlier run"})
    starts.begin(paths, {"invocation_id": "i1", "run": run})
    starts.update(paths, 2, {"ready": False, "verdict": "cut_off", "reason": "cut off"})
    with pytest.raises(StepFailed, match=r"cut off \(start 2\)"):
        start(context())


def test_a_start_whose_ending_is_still_being_noted_is_waited_for(context, paths, host):
    """systemd cancels the job, kills the gate, and only then does after-stop name the ending."""
    made = context()

    def stopped_by_somebody():
        starts.begin(paths, {"invocation_id": "i1"})
        starts.update(paths, 1, {"ended_at": "t"})
        return Result((), 1, "", "Job for vllm-chat.service canceled.")

    def named_later(seconds):
        FastClock.sleep(made.clock, seconds)
        if made.clock.passed > 5:
            reason = "the start was cut off: somebody stopped or restarted vllm-chat.service"
            starts.update(paths, 1, {"verdict": "cut_off", "reason": reason, "ending": "stopped"})

    made.clock.sleep = named_later
    host.on_start = stopped_by_somebody
    with pytest.raises(StepFailed, match="somebody stopped or restarted") as caught:
        start(made)
    assert caught.value.data == {"seq": 1, "verdict": "cut_off"}


def test_a_docker_that_is_away_for_a_moment_is_waited_for(context, docker, host):
    made = context()
    (docker.folder / "down").touch()
    docker.make("c1")

    def back_later(seconds):
        FastClock.sleep(made.clock, seconds)
        if made.clock.passed > 20:
            (docker.folder / "down").unlink(missing_ok=True)

    made.clock.sleep = back_later
    host.active = "failed"
    roll_back(made)
    assert docker.left == []


def test_a_start_that_systemd_did_not_begin(context, host):
    with pytest.raises(StepFailed, match="one of its conditions does not hold"):
        start(context())
    host.on_start = lambda: Result((), 5, "", "Unit vllm-chat.service not found.")
    with pytest.raises(StepFailed, match=r"Unit vllm-chat.service not found.; look at: journalctl"):
        start(context())


def test_a_stop_marks_first_and_leaves_nothing(context, paths, docker, host):
    host.active = "active"
    docker.make("c1", Status="exited")
    stopping.stop(context("stop"))
    assert "r1 by ada" in paths.stopped.read_text()
    assert docker.left == [] and host.active == "inactive"


def test_a_stop_that_failed_on_a_running_engine_lets_it_go_on(context, paths, host):
    host.active, host.stops = "active", False
    with pytest.raises(StepFailed):
        stopping.stop(context("stop"))
    assert roll_back(context("stop")).message == "the engine was not stopped and goes on as before"
    assert not paths.stopped.exists()
    host.active, host.stops = "inactive", True
    with pytest.raises(StepFailed, match="the run could not end"):
        roll_back(context("stop"))


def test_a_commit_moves_the_pointer_and_keeps_the_figures(context, paths, record):
    make_folder(paths.start(3))
    (paths.start(3) / "startup.json").write_text('{"kv_cache_tokens": [7], "max_concurrency": [[1, 2.0]]}')
    outcome = commit(context(found={"seq": 3, "seconds": 4.5}))
    assert link_name(paths.last_good) == record.id
    assert outcome.data["kv_cache_tokens"] == [7] and outcome.data["seconds"] == 4.5


def test_a_removal_can_be_done_twice_and_keeps_the_evidence(context, paths, secrets):
    switch_link(paths.last_good, link_name(paths.current))
    starts.begin(paths, {})
    make_folder(paths.unit_file.parent / "docker.service.wants")
    paths.unit_file.write_text("[Unit]\n")
    (paths.unit_file.parent / "docker.service.wants" / paths.unit).symlink_to(paths.unit_file)
    for _turn in range(2):
        commit(context("remove"))
        assert sorted(path.name for path in paths.state.iterdir()) == ["starts"]
        assert not paths.secrets.parent.exists() and not paths.unit_file.exists()
        assert list((paths.unit_file.parent / "docker.service.wants").iterdir()) == []


@pytest.fixture
def proof(monkeypatch):
    findings = []
    monkeypatch.setattr(proving, "prove", lambda _context, _release, _started: list(findings))
    return findings


@pytest.mark.usefixtures("proof")
def test_the_soak_notices_another_start_and_another_container(context, host, docker, paths, record):
    (paths.release(record.id) / "gate.json").write_text(gate_text({"soak_seconds": 5}, {}))
    found = {"seq": 1, "invocation_id": "i1", "container_id": "c1"}
    host.active, host.invocation = "active", "i1"
    docker.make("c1")
    soaking = context(found=found)
    assert "served for 5 s" in proving.soak(soaking).message
    assert soaking.clock.passed == 5
    docker.make("c2")
    with pytest.raises(StepFailed, match="must have the one container c1, it has: c1 running, c2 running"):
        proving.soak(context(found=found))
    host.invocation = "i2"
    with pytest.raises(StepFailed, match="is not the start that became ready"):
        proving.verify(context(found=found))


def test_a_claim_that_does_not_hold_fails_the_run_with_all_findings(context, host, docker, proof):
    host.active, host.invocation = "active", "i1"
    docker.make("c1")
    proof += [Finding("claim_alive", "info", "chat", "yes"), Finding("claim_generates", "error", "chat", "no tokens")]
    with pytest.raises(StepFailed, match="no tokens") as caught:
        proving.verify(context(found={"invocation_id": "i1", "container_id": "c1"}))
    assert [finding["id"] for finding in caught.value.data["findings"]] == ["claim_alive", "claim_generates"]


def test_staging_is_atomic_idempotent_and_spares_what_runs(paths, record, monkeypatch):
    gate = gate_text({"soak_seconds": 5}, {})
    shutil.rmtree(paths.releases)
    assert stage(paths, record, gate, check=True).changed and not paths.releases.exists()
    everything = ["args", "entry", "gate.json", "release.json", "run"]
    assert sorted(stage(paths, record, gate, check=False).after) == everything
    assert not stage(paths, record, gate, check=False).changed
    newer = replace(record, host=replace(record.host, tool_version="newer"))
    assert not stage(paths, newer, gate, check=False).changed
    gate = gate_text({"soak_seconds": 6}, {})
    assert list(stage(paths, record, gate, check=False).after) == ["gate.json"]
    other = replace(record, host=replace(record.host, image_id="sha256:" + "12" * 32))
    monkeypatch.setattr(staging, "_in_use", lambda *_args: True)
    kept = stage(paths, other, gate, check=False)
    assert not kept.changed and [finding.id for finding in kept.findings] == ["release_in_use"]
    monkeypatch.undo()
    assert sorted(stage(paths, other, gate, check=False).after) == ["release.json", "run"]
