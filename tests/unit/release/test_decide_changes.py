# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which run changes a service that was committed, takes it back or gives it other secrets, and what forbids it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.decide import decide
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, INTENT, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.plan import plan_service, way_on
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import ServiceState, UnitState

UP, DOWN = UnitState("loaded", "active", "running"), UnitState("loaded", "inactive", "dead")


def run(number, kind, release, end="committed", *, previous=None, cause=""):
    name, data = f"{kind}-{number}", {"previous": previous, "way_back": previous}
    failure = (Entry("t", name, kind, "starting", FAILED, release, message=cause),) if cause else ()
    return (Entry("t", name, kind, "staged", DONE, release, by="ada", data=data), *failure) + (
        (Entry("t", name, kind, end, DONE, release, message=cause),) if end else ()
    )


FIRST = run(1, "first_start", "rel-a")
SECOND = run(2, "change", "rel-b", previous="rel-a")
WENT_BACK = run(3, "change", "rel-c", "rolled_back", previous="rel-b", cause="no memory")
OPEN = (*run(3, "change", "rel-c", "", previous="rel-b"), Entry("t", "change-3", "change", "soaking", INTENT, "rel-c"))


def seen(*entries: Entry, **fields: Any) -> ServiceState:
    found = {"unit": UP, "current": "rel-b", "last_good": "rel-b", "installed": True, "containers": ("c",)}
    return ServiceState("chat", entries=(*FIRST, *SECOND, *entries), **{**found, **fields})


@pytest.mark.parametrize(
    ("wanted", "release", "state", "kind", "about"),
    [
        ("upgraded", "rel-c", seen(), "change", "rel-c"),
        ("upgraded", "rel-b", seen(), None, None),
        # one that crashed is changed too: that may be its cure
        ("upgraded", "rel-c", seen(unit=DOWN, containers=()), "change", "rel-c"),
        ("rolled_back", None, seen(), "rollback", "rel-a"),
        ("rolled_back", "rel-a", seen(), "rollback", "rel-a"),
        ("rolled_back", "rel-b", seen(unit=DOWN, containers=()), "rollback", "rel-b"),
        ("rotated", None, seen(), "rotate", "rel-b"),
        # after a rollback that failed a human says what shall run
        (
            "upgraded",
            "rel-d",
            seen(*run(3, "change", "rel-c", "rollback_failed", cause="x"), unit=DOWN, stopped=True, containers=()),
            "change",
            "rel-d",
        ),
    ],
)
def test_the_run_that_is_opened(wanted, release, state, kind, about):
    decision = decide(wanted, release, state)
    assert decision.refused is None
    assert (decision.kind, decision.release) == (kind, about)


@pytest.mark.parametrize(
    ("wanted", "release", "state", "says"),
    [
        ("upgraded", "rel-a", ServiceState("chat", unit=DOWN), "never committed on this host; put it there with"),
        ("upgraded", "rel-c", seen(*WENT_BACK), r"rel-c went back here: no memory; .*upgrade .*vllm_retry=chat"),
        ("upgraded", "rel-c", seen(unit=DOWN, stopped=True), "somebody stopped it, and an upgrade would start it"),
        ("upgraded", "rel-c", seen(frozen="audit week"), r"frozen \(audit week\); .*gpuhosts.vllm.unfreeze"),
        ("upgraded", "rel-c", seen(journal_error="line 2"), "cannot be read: line 2"),
        ("upgraded", "rel-c", seen(*run(3, "stop", None, "")), "the run stop-3 has not ended"),
        ("rolled_back", "rel-z", seen(), "rel-z was never committed on this host; name one .*REL: rel-a"),
        ("rolled_back", "rel-b", seen(), "it runs rel-b already"),
        ("rolled_back", None, seen(*run(3, "rollback", "rel-a", previous="rel-b"), current="rel-a", last_good="rel-a"),
         "no release to go back to from rel-a; name one with -e vllm_release=REL: rel-b"),
        ("rotated", None, seen(unit=DOWN, containers=()), "it does not run: write the secrets with deploy"),
    ],
)  # fmt: skip
def test_what_is_refused_and_what_to_do_next(wanted, release, state, says):
    decision = decide(wanted, release, state)
    assert decision.kind is None and not decision.changes
    with pytest.raises(ValueError, match=says):
        raise ValueError(decision.refused)


def test_what_went_back_may_be_tried_with_a_word():
    assert decide("upgraded", "rel-c", seen(*WENT_BACK), retry=True).kind == "change"


def test_an_open_change_is_followed_or_called_back():
    assert decide("upgraded", "rel-c", seen(*OPEN)).follow == "change-3"
    assert not decide("upgraded", "rel-c", seen(*OPEN)).cancels
    back = decide("rolled_back", None, seen(*OPEN))
    assert (back.follow, back.cancels, back.release) == ("change-3", True, "rel-b")
    assert "has not ended" in str(decide("rolled_back", "rel-a", seen(*OPEN)).refused)


def test_the_plan_shows_what_went_back():
    wanted = {"name": "chat", "state": "started", "release": {"id": "rel-c", "content": {}}}
    entry = plan_service(wanted, seen(*WENT_BACK))
    assert entry.action == "quarantined"
    assert entry.reason == "the inventory wants rel-c, which went back here: no memory; it runs rel-b"
    assert entry.next.endswith("gpuhosts.vllm.upgrade -e vllm_confirm=chat -e vllm_retry=chat")
    assert entry.goes_back_to == "rel-a"
    assert plan_service(wanted, seen(*WENT_BACK), retry=True).action == "differs"
    assert plan_service({**wanted, "release": {"id": "rel-b", "content": {}}}, seen(*WENT_BACK)).action == "unchanged"


@pytest.mark.parametrize(
    ("records", "says"),
    [
        (WENT_BACK, "gpuhosts.vllm.upgrade -e vllm_confirm=chat -e vllm_retry=chat"),
        (run(3, "change", "rel-c", "aborted", cause="no room"), "gpuhosts.vllm.upgrade -e vllm_confirm=chat"),
        (run(3, "rollback", "rel-a", "rollback_failed", cause="x"), "-e vllm_confirm=chat -e vllm_release=REL"),
        (run(3, "rotate", "rel-a", "rolled_back", cause="x"), "gpuhosts.vllm.rotate -e vllm_confirm=chat"),
    ],
)  # fmt: skip
def test_what_to_type_after_a_run_that_did_not_commit(records, says):
    assert way_on("chat", records).endswith(says)
