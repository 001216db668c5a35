# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The plan and the decisions: what the inventory wants against what a host has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.decide import cut_by_reboot, decide
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.differences import content_differences
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, INTENT, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.plan import left_inventory, plan_service, way_on
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import (
    ServiceState,
    StartState,
    UnitState,
)

UP = UnitState("loaded", "active", "running")
LOADING = UnitState("loaded", "activating", "start-post")
DOWN = UnitState("loaded", "inactive", "dead")
CRASHED = UnitState("loaded", "failed", "failed", "start-limit-hit")
GOOD: dict[str, Any] = {"current": "rel-a", "last_good": "rel-a", "installed": True, "containers": ()}


def seen(**fields: Any) -> ServiceState:
    return ServiceState("chat", **{"unit": DOWN, "containers": (), **fields})


def entry(state, phase=DONE, release="rel-a", kind="first_start", message=""):
    return Entry("t", f"{kind} {release}", kind, state, phase, release, by="ada", message=message)


def failed(release="rel-a", message="no memory", kind="first_start"):
    return (
        entry("staged", release=release, kind=kind),
        entry("starting", FAILED, release, kind, message),
        entry("rolled_back", release=release, kind=kind, message=message),
    )


OPEN = (entry("staged"), entry("starting", INTENT))


def wanted(state="started", release="rel-a", content=None):
    return {"name": "chat", "state": state, "release": {"id": release, "content": content or {}}}


PLANS = [
    # a bare host
    ("started", ServiceState("chat"), "first_start"),
    ("stopped", ServiceState("chat"), "nothing"),
    ("absent", ServiceState("chat"), "nothing"),
    # committed and running
    ("started", seen(**GOOD | {"unit": UP}), "unchanged"),
    ("started", seen(**GOOD | {"unit": LOADING}), "unchanged"),
    ("started", seen(**GOOD | {"unit": UP, "current": "rel-b"}), "differs"),
    ("stopped", seen(**GOOD | {"unit": UP}), "stop"),
    ("absent", seen(**GOOD | {"unit": UP}), "remove"),
    # down
    ("started", seen(**GOOD, stopped=True), "stays_stopped"),
    ("started", seen(**GOOD), "failed"),
    ("started", seen(**GOOD | {"unit": CRASHED}), "failed"),
    ("started", seen(**GOOD | {"containers": None}), "unchanged"),
    ("stopped", seen(**GOOD, stopped=True), "unchanged"),
    ("stopped", seen(**GOOD), "stop"),
    ("absent", seen(**GOOD, stopped=True), "remove"),
    ("absent", seen(installed=True), "remove"),
    ("absent", seen(containers=("c1",)), "remove"),
    # what happened before
    ("started", seen(entries=failed()), "failed"),
    ("started", seen(entries=failed("rel-b")), "first_start"),
    ("started", seen(entries=(*failed(), *failed("rel-b"))), "failed"),
    ("started", seen(entries=OPEN, driver_alive=True), "busy"),
    ("started", seen(entries=OPEN), "busy"),
    ("started", seen(**GOOD | {"unit": UP}, frozen=""), "frozen"),
    ("started", seen(journal_error="line 2"), "failed"),
    ("absent", seen(**GOOD, entries=OPEN, driver_alive=True), "busy"),
]


@pytest.mark.parametrize(("state", "host", "action"), PLANS)
def test_actions(state, host, action):
    entry = plan_service(wanted(state), host).to_dict()
    assert entry["action"] == action
    assert entry["reason"]
    if action not in ("unchanged", "nothing"):
        assert entry["next"]


def test_a_start_that_a_reboot_cut_off_did_not_fail():
    records = (entry("staged"), entry("rolling_back", INTENT, message="rebooted"), entry("rolled_back"))
    assert plan_service(wanted(), seen(entries=records)).action == "first_start"


@pytest.mark.parametrize(
    ("verdict", "action"), [("cancelled", "first_start"), ("cut_off", "first_start"), ("dead", "failed")]
)
def test_a_start_that_was_stopped_did_not_fail(verdict, action):
    broken = replace(entry("starting", FAILED, message="no"), data={"verdict": verdict})
    records = (entry("staged"), broken, entry("rolling_back"), entry("rolled_back"))
    assert plan_service(wanted(), seen(entries=records)).action == action
    assert ("vllm_retry=chat" in way_on("chat", records)) == (action == "failed")


def test_only_a_start_of_another_boot_is_cut_off():
    assert cut_by_reboot(seen(entries=OPEN))
    assert not cut_by_reboot(seen(entries=OPEN, run_of_this_boot=OPEN[0].run))
    assert not cut_by_reboot(seen(entries=failed()))


def test_the_plan_tells_difference_downtime_and_way_back(make_content):
    before = make_content()
    after = make_content(args=["Qwen/Qwen3-8B", "--host", "0.0.0.0", "--port", "8000", "--enforce-eager"], port=9000)
    starts = [StartState(number, "rel-a", seconds) for number, seconds in enumerate([900.0, 30.0, None, 50.0, 40.0])]
    host = seen(**GOOD | {"unit": UP}, contents={"rel-a": before}, starts=tuple(starts))
    entry = plan_service(wanted(release="rel-b", content=after), host).to_dict()
    assert entry["action"] == "differs"
    assert entry["differences"] == [
        {"what": "--served-model-name", "before": "chat talk", "after": None},
        {"what": "port", "before": 8000, "after": 9000},
        {"what": "--enforce-eager", "before": None, "after": True},
    ]
    assert entry["downtime_seconds"] == 41.0
    assert "rel-a" in entry["way_back"]
    assert entry["next"] == "ansible-playbook gpuhosts.vllm.upgrade -e vllm_confirm=chat"


def test_differences_name_items_not_lumps(make_content):
    changed = make_content(
        env={"HF_HOME": "/gpuhosts/hf", "NEW": "1"}, model={"kind": "hub", "name": "Qwen/Qwen3-8B", "revision": "fff"}
    )
    assert content_differences(make_content(), changed) == [
        {"what": "model.revision", "before": "9c925d6", "after": "fff"},
        {"what": "env.NEW", "before": None, "after": "1"},
    ]
    assert content_differences(make_content(), make_content(args=tuple(make_content()["args"]))) == []


def test_what_left_the_inventory_is_named():
    assert left_inventory(["chat", "old", "embed"], ["chat", "embed", "new"]) == ["old"]


DECISIONS = [
    ("started", ServiceState("chat"), "first_start"),
    ("started", seen(**GOOD | {"unit": UP}), None),
    ("started", seen(**GOOD, stopped=True), "start"),
    ("started", seen(**GOOD | {"unit": CRASHED}), "start"),
    ("stopped", seen(**GOOD | {"unit": UP}), "stop"),
    ("stopped", seen(**GOOD), "stop"),
    ("stopped", seen(**GOOD, stopped=True), None),
    ("stopped", seen(**GOOD | {"containers": ("c1",)}, stopped=True), "stop"),
    ("stopped", ServiceState("chat"), None),
    ("absent", seen(**GOOD), "remove"),
    ("absent", ServiceState("chat"), None),
]


@pytest.mark.parametrize(("state", "host", "kind"), DECISIONS)
def test_decisions(state, host, kind):
    decision = decide(state, "rel-a" if state == "started" else None, host)
    assert (decision.kind, decision.refused, decision.follow) == (kind, None, None)
    assert decision.changes == (kind is not None)
    assert decision.reason


REFUSALS = [
    ("started", "rel-b", seen(**GOOD | {"unit": UP}), "it runs rel-a, the inventory wants rel-b"),
    ("started", "rel-a", seen(entries=failed()), "rel-a failed here and was taken back: no memory"),
    ("started", None, ServiceState("chat"), "it was never committed on this host"),
    ("started", "rel-a", seen(**GOOD, frozen="audit"), "it is frozen (audit)"),
    ("stopped", None, seen(**GOOD | {"unit": UP}, frozen=""), "it is frozen (no reason was given)"),
    ("stopped", None, seen(**GOOD, entries=OPEN), "it is no way to stopped"),
    ("absent", None, seen(journal_error="line 2"), "cannot be read: line 2"),
]


@pytest.mark.parametrize(("state", "release", "host", "words"), REFUSALS)
def test_refusals_say_why_and_what_to_do(state, release, host, words):
    refused = decide(state, release, host).refused
    assert refused is not None and words in refused


def test_a_run_of_the_same_direction_is_followed_and_a_retry_is_a_retry():
    assert decide("started", "rel-a", seen(entries=OPEN)).follow == "first_start rel-a"
    assert decide("started", "rel-a", seen(entries=failed()), retry=True).kind == "first_start"


def test_a_start_brings_back_what_was_committed_and_says_so():
    decision = decide("started", "rel-b", seen(**GOOD, stopped=True))
    assert (decision.kind, decision.release) == ("start", "rel-a")
    assert [finding.id for finding in decision.findings] == ["definition_differs"]
