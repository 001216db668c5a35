# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A start that the host's restart cut off is ended before anything else is decided."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.deciding import (
    Wanted,
    decide_now,
    find_run,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import RunIsOpen, ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.opening import Request, open_run
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import read_journal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.decide import Decision
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, INTENT, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import ServiceState, UnitState


def entry(state, phase=DONE):
    return Entry("t", "r1", "first_start", state, phase, "rel-a", by="ada")


CUT = (entry("staged"), entry("starting", INTENT))
ENDED = (*CUT, entry("rolling_back"), entry("rolled_back"))


@pytest.fixture
def host():
    """A host whose open run ends when it is followed."""

    class Host:
        entries, marker, followed = CUT, None, 0

        def look(self, _paths):
            return ServiceState(
                "chat", UnitState("loaded"), containers=(), entries=self.entries, run_of_this_boot=self.marker
            )

        def follow(self, _paths, _run, _wait):
            self.followed += 1
            self.entries = ENDED
            return {"result": "rolled_back", "summary": "the host restarted in the middle of the run"}

        def decide(self, release="rel-a", state="started", check=False):
            wanted = Wanted(state, release)
            return decide_now(Paths("chat"), wanted, check=check, look=self.look, follow=self.follow)

    return Host()


def test_a_start_of_an_earlier_boot_is_ended_and_begun_anew(host):
    decision, ended = host.decide()
    assert (decision.kind, decision.follow, host.followed) == ("first_start", None, 1)
    assert ended == ["the host restarted in the middle of the run"]


def test_a_start_of_this_boot_is_followed_and_said(host):
    host.marker = "r1"
    decision, ended = host.decide()
    assert (decision.follow, ended, host.followed) == ("r1", [], 0)
    assert "begun by ada, is under way" in decision.reason


def test_check_mode_ends_nothing(host):
    assert host.decide(check=True)[0].follow == "r1"
    assert host.followed == 0


def test_another_release_waits_for_the_end(host):
    assert host.decide("rel-b")[0].follow == "r1"
    assert host.followed == 0


def test_a_refusal_is_an_error(host):
    with pytest.raises(ToolError, match="chat: the run r1 has not ended"):
        host.decide(None, "stopped")


def test_whoever_was_quicker_and_wants_the_same_is_followed(host, paths):
    first = open_run(paths, Request("first_start", "rel-a", "ada"))
    wanted, mine = Wanted("started", "rel-a", by="bob"), Decision("first_start", "rel-a")

    def look(_paths):
        return ServiceState("chat", UnitState("loaded"), containers=(), entries=read_journal(paths).entries)

    decision, run_id = find_run(paths, wanted, mine, look=look)
    assert (run_id, decision.follow) == (first, first)
    assert "begun by ada" in decision.reason
    with pytest.raises(RunIsOpen, match=f"chat: {first} has not ended"):
        find_run(paths, Wanted("stopped"), Decision("stop"), look=look)
