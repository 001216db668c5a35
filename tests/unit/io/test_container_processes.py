# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The processes of a container are found past Docker, by their control group; signals go to whom Docker sends them."""

from __future__ import annotations

import os
import signal

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import container_processes

OURS, OTHER = "ab" * 32, "cd" * 32
VERSION_2 = f"0::/system.slice/docker-{OURS}.scope\n"
VERSION_1 = f"12:memory:/docker/{OURS}\n11:cpu:/docker/{OURS}\n"


@pytest.fixture
def proc(tmp_path):
    """A /proc with the client, an init with two children, one that has ended, and another container's process."""

    def process(pid, parent, cgroup, state="S", name="(a (b) c)"):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "cgroup").write_text(cgroup)
        (folder / "stat").write_text(f"{pid} {name} {state} {parent} 1 1 0\n")

    process(10, 1, "0::/system.slice/vllm-chat.service\n")
    process(20, 5, VERSION_2)
    process(21, 20, VERSION_2)
    process(22, 21, VERSION_1)
    process(23, 21, VERSION_2, state="Z")
    process(30, 5, VERSION_2.replace(OURS, OTHER))
    (tmp_path / "40").mkdir()  # ended while it was looked at
    (tmp_path / "self").mkdir()
    return str(tmp_path)


@pytest.fixture
def signals(monkeypatch):
    sent = []

    def send(pid, number):
        sent.append((pid, number))
        if pid == 21:
            raise ProcessLookupError

    monkeypatch.setattr(os, "kill", send)
    return sent


def test_all_living_processes_of_the_container_are_found(proc):
    assert container_processes.of_container(OURS, proc) == {20: 5, 21: 20, 22: 21}
    assert container_processes.of_container("", proc) == {}


def test_the_first_process_is_asked_and_all_are_killed(signals):
    container_processes.ask_to_end({20: 5, 21: 20, 22: 21})
    assert signals == [(20, signal.SIGTERM)]
    signals.clear()
    container_processes.kill({20: 5, 21: 20, 22: 21})
    assert signals == [(20, signal.SIGKILL), (21, signal.SIGKILL), (22, signal.SIGKILL)]
