# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a run does to a hand-made server: stop and keep it, and start it again; both as often as a driver is begun."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Listener
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import adopting
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import containers
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths

OLD = "0" * 64
ADOPT = {
    "container": "chat",
    "container_id": OLD,
    "restart": "on-failure:3",
    "auto_remove": False,
    "grace": 10,
    "unit": None,
    "unit_enabled": False,
    "port": 8000,
}


class FastClock(Clock):
    """Sleeping takes no time, but the clock goes on."""

    passed = 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


class Host:
    """A host with one container, and perhaps a unit; ``refuses`` is a command that fails."""

    def __init__(self, refuses: str = "") -> None:
        self.name, self.running, self.policy, self.there = "chat", True, "on-failure:3", True
        self.enabled, self.active, self.removes = True, True, False
        self.refuses, self.asked = refuses, []

    def __call__(self, argv: list[str], **_more: Any) -> Result:
        text = " ".join(argv)
        self.asked.append(text)
        if self.refuses and text.startswith(self.refuses):
            return Result(tuple(argv), 1, "", "refused")
        return {"docker": self.docker, "systemctl": self.systemctl}[argv[0]](argv)

    def docker(self, argv: list[str]) -> Result:
        verb = argv[1]
        if verb == "container":
            if not self.there:
                return Result(tuple(argv), 1, "", "Error: No such container: x")
            state = {"Status": "running" if self.running else "exited"}
            return Result(tuple(argv), 0, json.dumps([{"Id": OLD, "Name": f"/{self.name}", "State": state}]), "")
        if verb == "update":
            self.policy = argv[2].partition("=")[2]
        elif verb == "rename":
            self.name = argv[3]
        elif verb in ("stop", "start"):
            self.running = verb == "start"
        return Result(tuple(argv), 0, self.name if verb == "ps" and self.running else "", "")

    def systemctl(self, argv: list[str]) -> Result:
        verb = argv[1]
        if verb in ("enable", "disable"):
            assert "--no-reload" in argv
            self.enabled = verb == "enable"
        elif verb in ("start", "stop"):
            self.active = self.running = verb == "start"
            self.there = self.active or not self.removes
        return Result(tuple(argv), 0, "", "")

    @property
    def state(self) -> tuple[str, bool, str]:
        return self.name, self.running, self.policy


@pytest.fixture(autouse=True)
def nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adopting, "listeners", tuple)
    monkeypatch.setattr(containers, "asleep", lambda **_more: None)


def context(tmp_path, host: Host, adopt: Any = None) -> Context:
    paths = Paths("chat", str(tmp_path))
    paths.volatile.mkdir(parents=True, exist_ok=True)
    data = {"adopt": adopt} if adopt else {}
    entry = Entry("2026-01-31T11:00:00Z", "run", "first_start", "staged", DONE, "rel-1", data=data)
    return Context(paths, entry, (entry,), host, FastClock())


def test_a_container_is_stopped_and_kept_and_given_back_as_it_was(tmp_path) -> None:
    host = Host()
    told = context(tmp_path, host, ADOPT)
    for _again in range(2):
        adopting.take_over(told)
        assert host.state == ("chat-before-adoption", False, "no")
    for _again in range(2):
        assert adopting.give_back(told) == "; the container chat runs again, as it was"
        assert host.state == ("chat", True, "on-failure:3")
    assert host.asked.index("docker update --restart=no " + OLD) < host.asked.index("docker stop -t 10 " + OLD)


def test_what_was_never_taken_over_is_left_alone(tmp_path) -> None:
    host = Host()
    assert adopting.give_back(context(tmp_path, host, ADOPT)) == "; the container chat runs again, as it was"
    assert host.state == ("chat", True, "on-failure:3") and not [each for each in host.asked if " start " in each]


def test_a_run_that_adopts_nothing_asks_nobody(tmp_path) -> None:
    host = Host()
    adopting.take_over(context(tmp_path, host))
    assert adopting.give_back(context(tmp_path, host)) == ""
    assert host.asked == [] and not adopting.holds_port(context(tmp_path, host), 8000)


def test_a_unit_is_disabled_and_stopped_without_a_reload_and_comes_back_enabled(tmp_path) -> None:
    host = Host()
    host.removes = True
    told = context(tmp_path, host, {**ADOPT, "unit": "chat.service", "unit_enabled": True, "auto_remove": True})
    for _again in range(2):
        adopting.take_over(told)
        assert (host.enabled, host.active, host.there) == (False, False, False)
    for _again in range(2):
        assert adopting.give_back(told) == "; the unit chat.service runs again"
        assert (host.enabled, host.active, host.there) == (True, True, True)
    assert not [each for each in host.asked if each.startswith(("docker update", "docker rename"))]


@pytest.mark.parametrize("refuses", ["docker update", "docker stop", "docker rename"])
def test_what_docker_refuses_fails_the_step_and_can_be_given_back(tmp_path, refuses: str) -> None:
    host = Host(refuses)
    told = context(tmp_path, host, ADOPT)
    with pytest.raises(StepFailed, match=r"chat could not be stopped: .*refused"):
        adopting.take_over(told)
    host.refuses = ""
    adopting.give_back(told)
    assert host.state == ("chat", True, "on-failure:3")


def test_an_old_server_that_cannot_be_started_is_named_with_the_command(tmp_path) -> None:
    host = Host()
    told = context(tmp_path, host, ADOPT)
    adopting.take_over(told)
    host.refuses = "docker start"
    with pytest.raises(StepFailed, match="docker start: refused; on the host: docker start chat"):
        adopting.give_back(told)


def test_a_port_that_stays_held_fails_the_step(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(adopting, "listeners", lambda: (Listener("0.0.0.0", 8000, 7, "python3", None),))
    with pytest.raises(StepFailed, match="port 8000 is still held by python3"):
        adopting.take_over(context(tmp_path, Host(), ADOPT))


def test_the_port_is_held_by_what_is_taken_over_and_by_nobody_else(tmp_path) -> None:
    host = Host()
    assert adopting.holds_port(context(tmp_path, host, ADOPT), 8000)
    host.name = "other"
    assert not adopting.holds_port(context(tmp_path, host, ADOPT), 8000)
