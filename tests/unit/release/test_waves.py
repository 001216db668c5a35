# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What an upgrade may change, how its runs ended, and when the next wave goes."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.waves import (
    Changed,
    changed,
    changed_lines,
    halted_by,
    interruption,
    is_to_change,
    refusal,
    way_back_command,
)

OLD, NEW = "rel-aaaaaaaaaaaa", "rel-bbbbbbbbbbbb"


def plan(action="differs", **more):
    entry = {"name": "chat", "action": action, "reason": "because", "current": OLD, "last_good": OLD, "wanted": NEW}
    return {**entry, "next": "do this", "kv_cache_tokens": 2_000_000, **more}


def step(state, at, seconds=None, outcome="done"):
    return {"state": state, "outcome": outcome, "message": "", "at": f"2026-11-30T12:00:{at}Z", "seconds": seconds}


STEPS = [
    step("draining", "00.000", 0.1),
    step("stopped", "02.000", 1.5),
    step("switched", "02.100", 0.1),
    step("starting", "07.000", 4.8),
    step("verifying", "07.500", 0.5),
    step("soaking", "37.500", 30.0),
    step("committed", "37.600", 0.1),
]


def run(result, **more):
    return {"changed": True, "finished": True, "result": result, "release": NEW, "summary": "the run", **more}


@pytest.mark.parametrize(
    ("entry", "wanted"),
    [
        (plan(), True),
        (plan("busy"), True),
        (plan("failed"), True),
        (plan("stays_stopped"), True),
        (plan("failed", wanted=OLD), False),
        (plan("stays_stopped", wanted=OLD), False),
        (plan("failed", wanted=NEW, last_good=None), False),
        (plan("failed", wanted=None), False),
        (plan("quarantined"), False),
        (plan("frozen"), False),
        (plan("unchanged", wanted=OLD), False),
        (plan("first_start", last_good=None, current=None), False),
    ],
)
def test_what_an_upgrade_has_a_run_for(entry, wanted):
    assert is_to_change(entry) is wanted


def test_what_cannot_be_upgraded_is_refused_with_what_to_type():
    assert refusal(plan("quarantined"), "chat") == "chat: quarantined: because. Next: do this"
    assert refusal(plan("first_start", last_good=None), "chat") == "chat: first start: because. Next: do this"
    left = "chat is on the host but no longer in its inventory. Next: ansible-playbook gpuhosts.vllm.remove"
    assert refusal(None, "chat") == f"{left} -e vllm_confirm=chat"
    assert refusal(plan(), "chat") is None
    assert refusal(plan("unchanged", wanted=OLD), "chat") is None


def test_a_change_that_committed_says_what_it_cost():
    start = {"seconds": 4.2, "kv_cache_tokens_usable": 1_990_000}
    done = changed(plan(), run("committed", run={"steps": STEPS}, start=start))
    assert done == Changed("committed", OLD, NEW, 7.0, 4.2, 2_000_000, 1_990_000)
    assert done.good
    assert changed_lines(done.to_dict()) == [
        f"committed: {OLD} -> {NEW}; away for 7.0 s; started in 4.2 s; KV cache 2,000,000 -> 1,990,000 tokens"
    ]


def test_a_change_that_went_back_was_away_until_the_old_release_served_again():
    steps = [*STEPS[:3], step("starting", "04.000", 1.9, "failed"), step("rolled_back", "09.500", 5.5)]
    done = changed(
        plan(), run("rolled_back", failed=True, run={"steps": steps}, next="try it", start={"seconds": None})
    )
    assert (done.result, done.interruption_seconds, done.good) == ("rolled_back", 9.0, False)
    assert changed_lines(done.to_dict()) == [
        f"rolled back: {OLD} -> {NEW} failed, it has {OLD} again; away for 9.0 s",
        "  why: the run",
        "  next: try it",
    ]


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        ([], None),
        ([step("preflighted", "01.000", outcome="failed"), step("aborted", "01.100")], None),
        ([*STEPS[:4], step("rollback_failed", "30.000")], None),
        ([*STEPS[:4], step("verifying", "08.000", outcome="failed"), step("rollback_failed", "30.000")], None),
        (STEPS[:5], 7.0),
        (
            [
                *STEPS[:5],
                step("soaking", "27.500", 20.0, "failed"),
                step("rolling_back", "33.600", 6.1),
                step("rolled_back", "33.600"),
            ],
            13.1,
        ),
    ],
)
def test_an_interruption_ends_when_something_serves(steps, seconds):
    assert interruption(steps) == seconds


@pytest.mark.parametrize(
    ("entry", "of_run", "result", "good"),
    [
        (plan("unchanged", wanted=OLD), None, "already", True),
        (plan(), None, "untouched", False),
        (plan(), {"skipped": True, "changed": False}, "untouched", False),
        (plan(), {"unreachable": True, "msg": "no route"}, "unreachable", False),
        (plan(), {"failed": True, "msg": "frozen"}, "refused", False),
        (plan(), {"changed": True, "finished": False, "awaits_confirm": True, "result": None}, "waits", False),
        (plan(), {"changed": True, "finished": True}, "would_change", True),
        (plan(), {"changed": False, "finished": True}, "already", True),
        (plan(), run("aborted", failed=True), "aborted", False),
        (plan(), run("rollback_failed", failed=True), "rollback_failed", False),
    ],
)
def test_each_way_that_a_run_ends(entry, of_run, result, good):
    done = changed(entry, of_run)
    assert (done.result, done.good) == (result, good)
    assert done.before == OLD
    told = {"already": "nothing to do", "refused": "not begun", "waits": "waits for the controller's word"}
    assert changed_lines(done.to_dict())[0].partition(":")[0] == told.get(result, result.replace("_", " "))


def test_the_words_of_a_task_without_a_run_are_kept():
    assert changed(plan(), {"failed": True, "msg": "chat: it is frozen"}).reason == "chat: it is frozen"
    assert changed(plan(), {"unreachable": True}).next.endswith(
        "ansible-playbook gpuhosts.vllm.upgrade -e vllm_confirm=chat"
    )


def test_the_next_wave_goes_when_every_host_before_it_is_where_it_shall_be():
    good, bad = Changed("committed", OLD, NEW), Changed("rolled_back", OLD, NEW)
    assert halted_by([]) == []
    assert halted_by([("a", [good, Changed("already", OLD, OLD)]), ("b", [])]) == []
    assert halted_by([("a", [good]), ("b", [good, bad]), ("c", [Changed("unreachable", OLD)])]) == ["b", "c"]


def test_the_way_back_names_hosts_and_services_once():
    assert way_back_command([]) == ""
    pairs = [("a", "chat"), ("a", "embed"), ("b", "chat")]
    assert way_back_command(pairs) == "ansible-playbook gpuhosts.vllm.rollback --limit a,b -e vllm_confirm=chat,embed"
