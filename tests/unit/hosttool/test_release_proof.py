# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The proof of release with real processes: what belonged to the old container is ended, nobody else is touched."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import before_start, release_proof
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.release_proof import held_before, prove_release
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import gpu_processes, ports
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result, run
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import freed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry

IGNORES = "import signal,time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


@pytest.fixture
def worker():
    with subprocess.Popen([sys.executable, "-c", IGNORES], stdout=subprocess.PIPE) as made:
        assert made.stdout.readline() == b"up\n"
        yield made
        made.send_signal(signal.SIGKILL)


@pytest.fixture
def context(paths, record, docker, monkeypatch):
    asked = []

    def runner(argv, **more):
        asked.append(argv[0])
        if argv[0] == "nvidia-smi":
            return Result(
                tuple(argv), 0, "77, 20480, GPU-a\n" if "compute" in argv[1] else "0, GPU-a, H, 80, 580\n", ""
            )
        return run(argv, **more)

    monkeypatch.setattr(release_proof, "open_ports", tuple)
    monkeypatch.setattr(gpu_processes, "is_installed", lambda: True)

    def made(kind="change", gpus="all"):
        wanted = replace(record, content={**record.content, "gpus": gpus})
        monkeypatch.setattr(release_proof, "whole_record", lambda *_args: wanted)
        opened = Entry("t", "r1", kind, "staged", DONE, record.id)
        context = Context(paths, opened, (opened,), runner)
        asked.clear()
        return context, asked

    return made


def of(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return {process.pid: int(fields[19])}


def test_where_nothing_is_left_one_question_is_asked_and_no_time_is_lost(context):
    change, asked = context()
    held = held_before(change)
    assert held.gpus == frozenset({"GPU-a"}) and held.others == {77}
    asked.clear()
    began = time.monotonic()
    said = prove_release(change, held)
    assert time.monotonic() - began < 0.15
    assert asked == ["nvidia-smi"]
    assert said.startswith("port 8000 is free; no process of it holds GPU memory")


def test_without_gpus_nobody_is_asked(context):
    stop, asked = context("stop", "none")
    held = held_before(stop)
    asked.clear()
    assert prove_release(stop, held) == "port 8000 is free"
    assert asked == []


def test_what_outlives_its_container_is_killed_and_named(context, worker, monkeypatch):
    monkeypatch.setattr(freed, "KILL_AFTER", 0.2)
    change, asked = context()
    held = replace(held_before(change), processes=of(worker))
    asked.clear()
    said = prove_release(change, held)
    assert f"killed what had outlived its container: {sys.executable} (pid {worker.pid})" in said
    assert worker.wait(5) == -9
    assert asked == ["nvidia-smi"]  # nobody is asked while it is clear that something is left
    assert f"not {sys.executable} (pid {worker.pid}); waiting" in change.paths.progress.read_text()


def test_another_process_with_the_same_id_is_left_alone(context, worker):
    change, _asked = context()
    held = replace(held_before(change), processes={pid: began - 1 for pid, began in of(worker).items()})
    assert "killed" not in prove_release(change, held)
    gpu_processes.kill(held.processes, [worker.pid])
    assert worker.poll() is None


def test_what_cannot_be_killed_fails_the_step(context, worker, monkeypatch):
    monkeypatch.setattr(freed, "KILL_AFTER", 0.1)
    monkeypatch.setattr(freed, "LONGEST", 0.4)
    monkeypatch.setattr(gpu_processes, "kill", lambda *_args: None)
    change, _asked = context()
    held = replace(held_before(change), processes=of(worker))
    with pytest.raises(StepFailed, match=rf"is left after 0 s and SIGKILL: .*pid {worker.pid}") as failed:
        prove_release(change, held)
    assert failed.value.data == {"left": [worker.pid]}


def test_a_port_that_a_stranger_took_is_named_with_its_holder(context, paths, monkeypatch):
    monkeypatch.setattr(freed, "PORT_WAIT", 0.2)
    monkeypatch.setattr(release_proof, "open_ports", ports.open_ports)
    monkeypatch.setattr(before_start, "listeners", ports.listeners)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        change, _asked = context()
        known = release_proof.whole_record(None, None)
        wanted = replace(known, content={**known.content, "port": port})
        monkeypatch.setattr(release_proof, "whole_record", lambda _paths, name: wanted if name != "rel-old" else known)
        with pytest.raises(StepFailed, match=rf"port {port} on 127.0.0.1 is held by .*\(pid {os.getpid()}\); stop it"):
            prove_release(change, held_before(change))
        assert "port 8000 is free" in prove_release(change, held_before(change, "rel-old"))
