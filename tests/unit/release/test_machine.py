# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The course of a run: from every crash, at every step, with every outcome, it reaches an end."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import states
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, INTENT, Entry, outcome
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.machine import (
    BOOTED,
    REBOOTED,
    Observed,
    Step,
    next_step,
)

KINDS = tuple(states.PATHS)
HERE = Observed(same_boot=True)


def entry(kind, state, phase, message=""):
    return Entry("t", "r", kind, state, phase, "rel-1", message=message)


def run_of(kind, fails_at=None):
    """All records of a run, driven to its end; it fails at one state."""
    records = (entry(kind, states.STAGED, DONE),)
    while step := next_step(records, HERE):
        if step.has_effects:
            records += (entry(kind, step.state, INTENT, step.reason),)
        phase = FAILED if step.state == fails_at else DONE
        records += (entry(kind, step.state, phase, f"{step.state} {phase}" if step.has_effects else step.reason),)
    return records


def reached(records):
    return [each.state for each in records if each.phase == DONE]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_without_trouble_goes_through_its_states(kind):
    assert reached(run_of(kind)) == list(states.PATHS[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_every_effect_is_announced_first(kind):
    records = run_of(kind)
    for state in states.PATHS[kind][1:]:
        assert [each.phase for each in records if each.state == state] == [INTENT, DONE]


@pytest.mark.parametrize(
    ("kind", "fails_at", "end"),
    [
        ("first_start", "preflighted", ["staged", "aborted"]),
        ("first_start", "switched", ["staged", "preflighted", "rolling_back", "rolled_back"]),
        ("first_start", "starting", ["staged", "preflighted", "switched", "rolling_back", "rolled_back"]),
        ("start", "soaking", [*states.PATHS["start"][:5], "rolling_back", "rolled_back"]),
        ("start", "committed", [*states.PATHS["start"][:6], "rolling_back", "rolled_back"]),
        ("stop", "draining", ["staged", "preflighted", "aborted"]),
        ("stop", "stopped", ["staged", "preflighted", "draining", "rolling_back", "rolled_back"]),
        ("remove", "committed", [*states.PATHS["remove"][:4], "rolling_back", "rolled_back"]),
    ],
)
def test_a_failure_ends_as_the_states_say(kind, fails_at, end):
    records = run_of(kind, fails_at)
    assert reached(records) == end
    assert records[-1].message == f"{fails_at} failed"


def test_a_rollback_is_never_rolled_back():
    records = (
        entry("start", "staged", DONE),
        entry("start", "starting", FAILED, "the engine died"),
        entry("start", "rolling_back", INTENT),
        entry("start", "rolling_back", FAILED, "the unit does not stop"),
    )
    assert next_step(records, HERE) == Step("rollback_failed", "the engine died")
    assert next_step((*records, entry("start", "rollback_failed", DONE)), HERE) is None


@pytest.mark.parametrize("kind", ["first_start", "start"])
@pytest.mark.parametrize("state", ["switched", "starting", "verifying", "soaking", "committed"])
@pytest.mark.parametrize("phase", [INTENT, DONE])
def test_a_start_does_not_outlive_its_boot(kind, state, phase):
    if (state, phase) == ("committed", DONE):
        return
    records = (entry(kind, "staged", DONE), entry(kind, state, phase))
    assert next_step(records, Observed(same_boot=False)) == Step("rolling_back", REBOOTED)


@pytest.mark.parametrize("state", ["switched", "starting", "verifying", "soaking"])
def test_what_was_committed_before_and_boots_by_itself_is_not_stopped(state):
    records = (entry("start", "staged", DONE), entry("start", state, DONE))
    rebooted = Observed(same_boot=False, last_good=records[0].release)
    step = next_step(records, rebooted)
    assert step == Step("committed", BOOTED)
    records += (entry("start", "committed", INTENT, BOOTED),)
    assert next_step(records, rebooted) == Step("committed", BOOTED)
    # Whether it boots is not known while the mark of a stopped service may still be there.
    unsure = (entry("start", "staged", DONE), entry("start", "switched", INTENT))
    assert next_step(unsure, rebooted) == Step("rolling_back", REBOOTED)


@pytest.mark.parametrize(("state", "phase"), [("staged", DONE), ("preflighted", INTENT), ("preflighted", DONE)])
def test_a_reboot_before_anything_was_touched_aborts_a_start(state, phase):
    records = (entry("first_start", "staged", DONE), entry("first_start", state, phase))
    assert next_step(records, Observed(same_boot=False)) == Step("aborted", REBOOTED)


def test_the_reason_of_a_rollback_outlives_it():
    records = (
        entry("first_start", "staged", DONE),
        entry("first_start", "rolling_back", INTENT, REBOOTED),
        entry("first_start", "rolling_back", DONE, "the unit is stopped"),
    )
    assert next_step(records, Observed(same_boot=False)) == Step("rolled_back", REBOOTED)


def test_a_commit_that_had_moved_the_pointer_is_finished_after_a_reboot():
    records = (entry("first_start", "staged", DONE), entry("first_start", "committed", INTENT))
    assert next_step(records, Observed(same_boot=False, last_good="rel-1")) == Step("committed")
    assert next_step(records, Observed(same_boot=False, last_good="rel-0")) == Step("rolling_back", REBOOTED)


@pytest.mark.parametrize("kind", ["stop", "remove"])
@pytest.mark.parametrize("state", ["draining", "stopped", "committed"])
def test_a_stop_goes_on_after_a_reboot(kind, state):
    records = (entry(kind, "staged", DONE), entry(kind, state, INTENT))
    assert next_step(records, Observed(same_boot=False)) == Step(state)


LOST = Observed(same_boot=False, last_good="rel-0", start_lost=True)


@pytest.mark.parametrize(("state", "phase"), [
    ("starting", DONE), ("verifying", INTENT), ("verifying", DONE), ("soaking", INTENT), ("soaking", DONE)
])  # fmt: skip
def test_a_rollback_whose_start_was_lost_with_the_boot_begins_it_anew(state, phase):
    records = (entry("rollback", "staged", DONE), entry("rollback", state, phase))
    assert next_step(records, LOST) == Step("starting", REBOOTED)
    assert next_step(records, HERE) != Step("starting", REBOOTED)


def test_a_rollback_that_failed_before_the_boot_went_is_not_begun_anew():
    records = (entry("rollback", "staged", DONE), entry("rollback", "verifying", FAILED, "no answer"))
    assert next_step(records, LOST) == Step("rollback_failed", "no answer")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fails_at", [None, "preflighted", "starting", "soaking", "stopped", "committed"])
def test_from_every_prefix_of_a_journal_the_run_goes_on_legally(kind, fails_at):
    records = run_of(kind, fails_at)
    for length in range(1, len(records)):
        step = next_step(records[:length], HERE)
        assert step is not None
        assert step.state in states.legal_states(kind)
        last = records[length - 1]
        if last.phase == INTENT:
            assert step.state == last.state


EVENTS = st.lists(st.sampled_from(["done", "failed", "crash before", "crash after", "reboot"]), max_size=25)


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from(KINDS), events=EVENTS)
def test_whatever_happens_a_run_ends(kind, events):
    """Failures, crashes before and after a step's effect, reboots: then the host behaves, and the run must end soon."""
    records = (entry(kind, states.STAGED, DONE),)
    same_boot, lost = True, False
    seen = [states.STAGED]
    for event in [*events, *["done"] * 12]:
        step = next_step(records, Observed(same_boot=same_boot, start_lost=lost))
        if step is None:
            break
        seen.append(step.state)
        same_boot = same_boot and event != "reboot"
        lost = (lost or event == "reboot") and step.state != states.STARTING
        if step.has_effects:
            records += (entry(kind, step.state, INTENT, step.reason),)
        if event in ("done", "failed") or not step.has_effects:
            failed = event == "failed" and step.has_effects
            records += (entry(kind, step.state, FAILED if failed else DONE, "why"),)
    end = records[-1]
    assert outcome(records) == end.state and end.state in states.TERMINAL
    assert set(seen) <= set(states.legal_states(kind))
    # What was touched is never called aborted, and what failed is never called committed.
    if end.state == states.ABORTED:
        assert not {each.state for each in records} & {"switched", "starting", "stopped", "rolling_back"}
    if any(each.phase == FAILED for each in records):
        assert end.state != states.COMMITTED
    assert sum(each.state == states.ROLLING_BACK and each.phase != INTENT for each in records) <= 1


def test_every_move_of_the_table_is_legal():
    for kind in KINDS:
        for state in states.legal_states(kind):
            for after in (states.state_after(kind, state), states.state_after_failure(kind, state)):
                assert after is None or after in states.legal_states(kind)
