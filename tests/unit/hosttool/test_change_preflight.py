# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Before a running engine is stopped, everything that is missing for the change and its way back is named at once."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Disk, Listener
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import (
    before_start,
    change_preflight,
    preflight,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.change_preflight import check_change
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import models, releases
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text, immutable_files
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import make_record

OLD_IMAGE, NEW_IMAGE = "sha256:" + "01" * 32, "sha256:" + "02" * 32
GPU = "0, GPU-a, NVIDIA H200, 143771, 570.86.10"


class Programs:
    """What Docker and the driver's tool answer."""

    def __init__(self):
        self.images = {OLD_IMAGE: [], NEW_IMAGE: ["CUDA_VERSION=12.9.1"]}
        self.gpus = Result((), 0, GPU, "")

    def __call__(self, argv, **_more):
        if argv[0] == "nvidia-smi":
            return self.gpus
        if argv[:3] == ["docker", "image", "inspect"]:
            return self.inspect(argv)
        return Result(tuple(argv), 0, "/var/lib/docker\n" if argv[1] == "info" else "", "")

    def inspect(self, argv):
        if argv[-1] not in self.images:
            return Result(tuple(argv), 1, "", "Error: No such image")
        config = [{"Id": argv[-1], "Config": {"Env": self.images[argv[-1]], "Labels": None}}]
        return Result(tuple(argv), 0, argv[-1] if "--format" in argv else json.dumps(config), "")


@pytest.fixture
def programs():
    return Programs()


@pytest.fixture
def run_of(paths, record, programs, monkeypatch):
    """A run of a kind, on a host where an older release serves and was committed."""
    monkeypatch.setattr(models, "look_at_path", lambda _name: None)
    monkeypatch.setattr(change_preflight, "disk_of", lambda path: Disk(path, hash(path), 9 << 30, 2 << 30))

    def made(kind="change", new=None, old=None, committed=True, **data):
        before = _staged(paths, record, OLD_IMAGE, {"version": "0.31.0", "tag": "v0.31.0", **(old or {})})
        after = _staged(paths, record, NEW_IMAGE, {"shm_size": "2g", **(new or {})})
        for state in ("staged", "committed") if committed else ():
            append_entry(paths, Entry("t", "r0", "first_start", state, DONE, before.id))
        known = {"previous": before.id, "way_back": before.id, **data}
        opened = Entry("t", "r1", kind, "staged", DONE, after.id, data=known)
        return Context(paths, opened, (opened,), programs), after, before

    return made


def _staged(paths, record, image, content):
    made = make_record("chat", {**record.content, **content}, replace(record.host, image_id=image))
    if not paths.release(made.id).exists():
        releases.write_new(paths, made.id, {**immutable_files(made), "gate.json": gate_text({}, {})})
    return made


def refusal(context, record):
    with pytest.raises(StepFailed) as failed:
        check_change(context, record)
    return str(failed.value)


def test_a_change_with_everything_there_is_let_pass(run_of):
    context, record, _before = run_of()
    assert [each["id"] for each in check_change(context, record) if each["severity"] == "error"] == []


def test_all_that_is_missing_of_the_way_back_is_named_with_the_one_door(run_of, programs, paths, monkeypatch):
    context, record, before = run_of(committed=False)
    del programs.images[OLD_IMAGE]
    (paths.release(before.id) / "run").unlink()
    monkeypatch.setattr(models, "look_at_path", lambda _name: "/srv/m is not there")
    said = refusal(context, record)
    for part in (
        f"{before.id}: its file run is missing",
        f"its image {OLD_IMAGE} is not on this host",
        "/srv/m is not there",
        "it was never committed on this host",
        f"docker pull vllm/vllm-openai@sha256:{'cd' * 32}",
        "-e vllm_accept_no_rollback=chat",
        f"{record.id} cannot run here: /srv/m is not there",
    ):
        assert part in said


def test_with_the_door_open_the_way_back_is_a_warning_and_the_rest_is_not(run_of, programs, paths):
    context, record, _before = run_of(accept_no_rollback=True)
    del programs.images[OLD_IMAGE]
    (note,) = [each for each in check_change(context, record) if each["id"] == "change_risk"]
    assert note["severity"] == "warning" and "which was accepted" in note["message"]
    assert "there is no way back, which was accepted" in paths.progress.read_text()
    del programs.images[NEW_IMAGE]
    assert refusal(context, record).startswith(f"{record.id} cannot run here: its image {NEW_IMAGE}")


def test_a_record_that_was_edited_and_no_last_good_release_at_all(run_of, paths):
    context, record, before = run_of()
    path = paths.release(before.id) / "release.json"
    path.write_text(path.read_text().replace('"port": 8000', '"port": 8001'))
    assert f"{before.id}: its record is missing or was edited" in refusal(context, record)
    context, record, _before = run_of(way_back=None)
    assert "no release was ever committed on this host" in refusal(context, record)


def test_a_rollback_needs_its_target_and_no_way_back(run_of, programs):
    context, record, _before = run_of("rollback")
    del programs.images[OLD_IMAGE]
    assert check_change(context, record) == []
    del programs.images[NEW_IMAGE]
    said = refusal(context, record)
    assert f"its image {NEW_IMAGE} is not on this host" in said and "-e vllm_release=REL" in said
    assert "accept_no_rollback" not in said


def test_a_full_disk_stops_a_change_and_warns_a_rollback(run_of, monkeypatch):
    monkeypatch.setattr(change_preflight, "disk_of", lambda path: Disk(path, 1, 9 << 30, 300 << 20))
    context, record, _before = run_of()
    said = refusal(context, record)
    assert "has 300 MiB free, 1024 MiB are needed" in said
    assert said.count("MiB free") == 1  # both folders are on one file system
    context, record, _before = run_of("rollback")
    assert [each["id"] for each in check_change(context, record)] == ["change_risk"]


def test_arguments_that_the_version_refuses_stop_a_change_unless_waived(run_of, paths):
    args = ["/srv/m", "--port", "8000", "--swap-space", "4"]
    context, record, _before = run_of(new={"args": args})
    assert "--swap-space" in refusal(context, record)
    waiver = {"id": "FLAG_REMOVED", "subject": "", "until": "9999-12-31"}
    (paths.release(record.id) / "gate.json").write_text(gate_text({"waivers": [waiver]}, {}))
    check_change(context, record)
    (paths.release(record.id) / "gate.json").write_text(gate_text({"waivers": [{**waiver, "until": "2020-01-01"}]}, {}))
    assert "--swap-space" in refusal(context, record)
    context, record, _before = run_of("rollback", new={"args": args})
    warned = [each for each in check_change(context, record) if each["id"] == "FLAG_REMOVED"]
    assert [each["severity"] for each in warned] == ["warning"]


def test_what_is_wrong_with_the_release_that_runs_is_only_said(run_of):
    context, record, before = run_of(old={"args": ["/srv/m", "--port", "8000", "--max-modle-len", "4"]})
    (note,) = [each for each in check_change(context, record) if "runs now" in each["message"]]
    assert note["severity"] == "warning" and before.id in note["message"] and "max-modle-len" in note["subject"]


def test_a_gpu_that_is_lost_and_a_driver_that_is_too_old(run_of, programs, record, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    host = replace(record.host, device_request="gpus")
    context, after, _before = run_of(new={"gpus": "all"})
    after = replace(after, host=replace(host, image_id=NEW_IMAGE))
    check_change(context, after)
    programs.images[NEW_IMAGE] = ["CUDA_VERSION=13.0.2"]
    assert "needs driver 580.65.06 or newer; the host has 570.86.10" in refusal(context, after)
    programs.gpus = Result((), 15, "", "Unable to determine the device handle for GPU0: GPU is lost. Reboot the system")
    said = refusal(context, after)
    assert "GPU is lost" in said and "reboot the host" in said


def test_other_kinds_are_not_asked(run_of, programs):
    context, record, _before = run_of("first_start")
    programs.images.clear()
    assert check_change(context, record) == []


def test_the_port_of_the_service_itself_is_no_obstacle_but_that_of_a_stranger_is(run_of, monkeypatch):
    context, record, _before = run_of()
    held = [Listener("127.0.0.1", 8000, 7, "nginx")]
    monkeypatch.setattr(preflight.containers, "with_label", lambda *_args, runner: ["c1"])
    monkeypatch.setattr(preflight.containers, "publishing", lambda _port, runner: ["vllm-chat"])
    monkeypatch.setattr(before_start, "listeners", lambda: held)
    monkeypatch.setattr(preflight, "listeners", lambda: held)
    preflight._check_port(context, record)
    monkeypatch.setattr(preflight.containers, "publishing", lambda _port, runner: [])
    with pytest.raises(preflight.ToolError, match=r"port 8000 on 127.0.0.1 is held by nginx \(pid 7\)"):
        preflight._check_port(context, record)
    held[0] = Listener("127.0.0.1", 8000, 7, "vllm", "c1")  # on the host's network
    preflight._check_port(context, record)
