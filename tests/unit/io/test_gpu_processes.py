# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Processes are known by their id and the time of their begin, and named as people know them."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.gpu.holders import Holder
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import gpu_processes
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.freed import Seen

OURS = "ab" * 32
GROUP = f"0::/system.slice/docker-{OURS}.scope\n"


@pytest.fixture
def proc(tmp_path):
    def process(pid, cgroup, title, *, state="S", began=900, uid=0):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "cgroup").write_text(cgroup)
        (folder / "cmdline").write_text(title)
        (folder / "comm").write_text("python3\n")
        (folder / "status").write_text(f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\n")
        (folder / "stat").write_text(f"{pid} (a (b) c) {state} 1 " + "0 " * 17 + f"{began} 0 0\n")

    process(20, GROUP, "VLLM::Worker_TP0\0")
    process(21, GROUP, "VLLM::EngineCore\0x\0", state="Z")
    process(30, "0::/user.slice\n", "", began=901, uid=4294967294)
    return str(tmp_path)


def test_the_processes_of_a_container_have_the_time_of_their_begin(proc):
    assert gpu_processes.started([OURS, ""], proc) == {20: 900}
    assert gpu_processes.started(["cd" * 32], proc) == {}


def test_they_are_found_again_wherever_they_are_and_nobody_else_is(proc):
    found = gpu_processes.alive({20: 900, 21: 900, 30: 900, 99: 1}, proc)
    assert found == (
        Seen(20, "VLLM::Worker_TP0", "S", "root", OURS),
        Seen(21, "VLLM::EngineCore", "Z", "root", OURS),
    )


def test_a_process_without_title_and_with_an_unknown_user(proc):
    assert gpu_processes.process(30, proc) == Seen(30, "python3", "S", "4294967294", "")
    assert gpu_processes.process(99, proc) is None


def test_a_driver_that_does_not_answer_is_quoted():
    lost = Result((), 9, "", "Unable to determine the device handle:\n GPU is lost.")
    assert gpu_processes.holders(runner=lambda *_a, **_m: lost) == (
        (),
        "Unable to determine the device handle: GPU is lost.",
    )
    well = Result((), 0, "20, 5, GPU-a\n", "")
    assert gpu_processes.holders(runner=lambda *_a, **_m: well) == ((Holder(20, 5, "GPU-a"),), "")
