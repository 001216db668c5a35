# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What somebody did past the playbooks is said, with the command that undoes it."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.by_hand import by_hand
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.plan import plan_service
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import (
    ContainerSeen,
    ServiceState,
    UnitState,
)

UP = UnitState("loaded", "active", "running")
WANTED = {"name": "chat", "state": "started", "release": {"id": "rel-a", "content": {}}}


def seen(*containers, **fields):
    known = {"unit": UP, "current": "rel-a", "last_good": "rel-a", "installed": True}
    return ServiceState("chat", **{**known, "container_states": containers, **fields})


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (seen(ContainerSeen("c1", "vllm-chat", "running")), []),
        (
            seen(comes_back=False),
            [
                "its unit is disabled: after a boot or a restart of Docker it stays down; "
                "on the host: systemctl enable vllm-chat.service"
            ],
        ),
        (
            seen(unit=UnitState("masked"), comes_back=False),
            ["its unit is masked, so nothing can start it; on the host: systemctl unmask vllm-chat.service"],
        ),
        (
            seen(ContainerSeen("c1", "mine", "paused")),
            [
                "its container mine is paused, so it answers nothing; on the host: docker unpause mine",
                "its container was renamed to mine; on the host: docker rename mine vllm-chat",
            ],
        ),
        (ServiceState("chat", comes_back=False), []),
    ],
)
def test_each_with_what_undoes_it(state, said):
    assert [each.text for each in by_hand(state)] == said
    assert plan_service(WANTED, state).to_dict()["by_hand"] == said


@pytest.mark.parametrize(
    ("containers", "said"),
    [
        ((), "it is what the inventory wants, and waits for its next start"),
        (
            None,
            "it is what the inventory wants, and waits for its next start; "
            "Docker does not answer, and it comes back with it",
        ),
    ],
)
def test_one_that_waits_for_its_next_start_is_not_said_to_run(containers, said):
    """systemd leaves a unit there for as long as Docker, which it requires, has failed."""
    waits = UnitState("loaded", "activating", "auto-restart-queued")
    assert plan_service(WANTED, seen(unit=waits, containers=containers)).reason == said


def test_a_unit_that_somebody_removed_is_written_again():
    gone = seen(unit=UnitState("not-found", "inactive"), installed=False)
    entry = plan_service(WANTED, gone)
    assert entry.action == "first_start"
    assert entry.reason.startswith("its unit /etc/systemd/system/vllm-chat.service is gone: it is written again")
    assert plan_service(
        WANTED, seen(unit=UnitState("not-found", "inactive"), installed=False, stopped=True)
    ).action == ("stays_stopped")
