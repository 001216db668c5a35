# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Asking Docker must never start it, nor wait for a start that waits for whoever asks."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import containers, docker
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import TIMED_OUT, Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.docker_socket import asleep

# What systemd 257 says, in both orders of the two units.
STOPPED = "Id=docker.service\nActiveState=inactive\nSubState=dead\n\n{}"
LISTENS = "Id=docker.socket\nActiveState=active\nSubState=listening\n"
SERVES = "Id=docker.socket\nActiveState=active\nSubState=running\n"
GONE = "Id=docker.socket\nActiveState=inactive\nSubState=dead\n"


class Host:
    """A systemctl that says ``units``, and a docker that gives one answer after the other."""

    def __init__(self, units, *answers):
        self.units, self.answers, self.asked = units, list(answers), []

    def __call__(self, argv, **_more):
        if argv[0] == "systemctl":
            units = self.units.pop(0) if isinstance(self.units, list) else self.units
            return Result(tuple(argv), 0, units, "")
        self.asked.append(argv[:2])
        return self.answers.pop(0) if self.answers else Result(tuple(argv), 0, "", "")


@pytest.mark.parametrize("socket", [LISTENS, SERVES], ids=["listens", "was asked"])
@pytest.mark.parametrize(
    "state", ["inactive (dead)", "failed (failed)", "activating (auto-restart)", "activating (auto-restart-queued)"]
)
def test_a_docker_that_is_down_behind_its_socket_is_asleep(state, socket):
    active, sub = state.rstrip(")").split(" (")
    said = f"Id=docker.service\nActiveState={active}\nSubState={sub}\n\n{socket}"
    assert asleep(runner=Host(said)) == f"docker.service is {state}"
    assert asleep(runner=Host("\n\n".join(reversed(said.split("\n\n"))))) == f"docker.service is {state}"


@pytest.mark.parametrize(
    "said",
    [
        f"Id=docker.service\nActiveState=active\nSubState=running\n\n{SERVES}",
        f"Id=docker.service\nActiveState=activating\nSubState=start\n\n{LISTENS}",
        STOPPED.format(GONE),
        "",
    ],
)
def test_one_that_runs_or_starts_or_has_no_socket_may_be_asked(said):
    assert asleep(runner=Host(said)) is None


def test_nothing_that_looks_wakes_it():
    host = Host(STOPPED.format(LISTENS))
    for ask in (containers.with_label, containers.image_present):
        with pytest.raises(containers.DockerError, match=r"^docker.service is inactive \(dead\)$"):
            ask(*["word"] * (2 if ask is containers.with_label else 1), runner=host)
    assert host.asked == []
    engine = docker.engine_info(runner=host)
    assert not engine.reachable
    assert [words for words in host.asked if words[0] == "docker"] == []


def test_a_docker_that_dies_while_it_is_asked_is_not_waited_for():
    alive = f"Id=docker.service\nActiveState=active\nSubState=running\n\n{SERVES}"
    dead = f"Id=docker.service\nActiveState=activating\nSubState=auto-restart\n\n{LISTENS}"
    late = Result((), TIMED_OUT, "", "docker did not end within 5 s")
    with pytest.raises(containers.DockerError, match="auto-restart"):
        containers.with_label("label", "chat", runner=Host([alive, dead], late))
    slow = Host([alive, alive], late, Result((), 0, "c1\n", ""))
    assert containers.with_label("label", "chat", runner=slow) == ["c1"]
