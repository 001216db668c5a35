# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What makes a change safe on the host: pointers and secrets that are put back, words that are heard, giving up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import confirming, proving, rotating
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.calling_back import call_back, who_called_back
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.committed import (
    boots_what_was_committed,
    put_right,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.going_back import give_up
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import releases
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result, run
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import link_name, make_folder, switch_link
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text, immutable_files
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, INTENT, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import make_record


class FastClock(Clock):
    """Sleeping takes no time, but the clock goes on."""

    passed = 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


@pytest.fixture
def new(paths, record):
    """A second release that is staged, the first one committed."""
    made = make_record("chat", {**record.content, "shm_size": "2g"}, record.host)
    releases.write_new(paths, made.id, {**immutable_files(made), "gate.json": gate_text({}, {})})
    switch_link(paths.last_good, f"releases/{record.id}")
    write(paths, Entry("t", "first_start-1", "first_start", "staged", DONE, record.id))
    write(paths, Entry("t", "first_start-1", "first_start", "committed", DONE, record.id))
    return made


def write(paths, *entries):
    for each in entries:
        append_entry(paths, each)


def cut_at(paths, release, state, kind="change", phase=INTENT):
    """A run of this kind that has come so far; no run of this boot."""
    write(paths, Entry("t", "change-2", kind, "staged", DONE, release, data={"way_back": link_name(paths.last_good)}))
    write(paths, Entry("t", "change-2", kind, state, phase, release))


@pytest.mark.parametrize("state", ["switched", "starting", "verifying", "soaking", "rolling_back"])
def test_what_was_not_committed_does_not_boot(paths, record, new, state):
    cut_at(paths, new.id, state)
    switch_link(paths.current, f"releases/{new.id}")
    assert not boots_what_was_committed(paths)
    assert put_right(paths) == f"put back before this start: current is {record.id}, not {new.id}"
    assert link_name(paths.current) == record.id and boots_what_was_committed(paths)
    assert put_right(paths) == ""


def test_a_start_of_the_run_of_this_boot_is_its_business(paths, new):
    cut_at(paths, new.id, "starting")
    switch_link(paths.current, f"releases/{new.id}")
    make_folder(paths.volatile)
    paths.open_run.write_text("change-2\n")
    assert put_right(paths) == "" and link_name(paths.current) == new.id


def test_a_rollback_goes_on_after_a_reboot(paths, record, new):
    cut_at(paths, new.id, "starting", kind="rollback")
    switch_link(paths.current, f"releases/{new.id}")
    assert put_right(paths) == "" and boots_what_was_committed(paths)


@pytest.mark.parametrize("damage", ["gone", "dangling", "file", "folder"])
@pytest.mark.parametrize("which", ["current", "last_good"])
def test_a_damaged_pointer_is_put_back_from_what_is_known(paths, record, new, damage, which):
    link = getattr(paths, which)
    link.unlink()
    if damage == "dangling":
        link.symlink_to("releases/rel-nowhere")
    elif damage == "file":
        link.write_text("x")
    elif damage == "folder":
        link.mkdir()
    assert f"{which} is {record.id}" in put_right(paths)
    assert link_name(paths.current) == link_name(paths.last_good) == record.id


def test_a_journal_that_cannot_be_read_changes_nothing(paths, new):
    paths.journal.write_text("rubbish\n" + paths.journal.read_text())
    switch_link(paths.current, f"releases/{new.id}")
    assert put_right(paths) == "" and link_name(paths.current) == new.id


def test_secrets_of_a_rotation_that_was_cut_off_are_put_back(paths, record, new):
    make_folder(paths.secrets.parent)
    paths.secrets.write_text("A='old'\n")
    paths.next_secrets.write_text("A='new'\n")
    rotating.bring_in(paths)
    rotating.bring_in(paths)  # again, after a crash
    assert (paths.secrets.read_text(), paths.back_secrets.read_text()) == ("A='new'\n", "A='old'\n")
    cut_at(paths, record.id, "soaking", kind="rotate")
    assert not boots_what_was_committed(paths)
    assert "the secrets of before" in put_right(paths)
    assert paths.secrets.read_text() == "A='old'\n" and not paths.back_secrets.exists()


def test_a_rotation_that_was_committed_leaves_no_earlier_values(paths):
    make_folder(paths.secrets.parent)
    paths.secrets.write_text("A='old'\n")
    paths.next_secrets.write_text("A='new'\n")
    rotating.bring_in(paths)
    rotating.keep(paths)
    assert [each.name for each in paths.secrets.parent.iterdir()] == ["secrets"]


@pytest.fixture
def context(paths, record, docker):
    """A change at its soak, with a systemd that says that all is well."""
    opened = Entry("t", "change-2", "change", "staged", DONE, record.id, by="ada", data={"confirm_seconds": 20})
    failed = Entry("t", "change-2", "change", "starting", FAILED, record.id, data={"seq": 4})

    def runner(argv, **more):
        if argv[0] == "systemctl":
            return Result(tuple(argv), 0, "ActiveState=inactive\nLoadState=loaded\n", "")
        return run(argv, **more)

    return Context(paths, opened, (opened, failed), runner, FastClock())


def test_without_the_word_the_run_goes_back(context, paths):
    with pytest.raises(StepFailed, match="nobody confirmed it within 20 s"):
        confirming.await_confirmation(context, lambda _context: None)
    assert not paths.awaits.exists()


def test_the_word_for_another_run_is_none(context, paths):
    paths.confirmed.write_text("change-1\n")
    with pytest.raises(StepFailed, match="nobody confirmed it"):
        confirming.await_confirmation(context, lambda _context: None)


def test_the_word_is_heard(context, paths, record):
    write(paths, *context.records)

    def word(_context):
        assert confirming.awaits_confirmation(paths, "change-2")
        assert confirming.confirm(paths) == "change-2"

    assert confirming.await_confirmation(context, word) == ", and it was confirmed"
    with pytest.raises(ToolError, match="no run waits for a confirmation; change-2 is at starting"):
        confirming.confirm(paths)


def test_a_run_that_was_told_to_go_back_waits_for_no_word(context, paths):
    def word(_context):
        call_back(paths, "ada", "slow", runner=context.runner)
        assert not confirming.awaits_confirmation(paths, "change-2")
        with pytest.raises(ToolError, match="no run waits for a confirmation"):
            confirming.confirm(paths)
        raise StepFailed("called back")

    write(paths, *context.records)
    with pytest.raises(StepFailed, match="called back"):
        confirming.await_confirmation(context, word)


def test_a_run_that_needs_no_word_does_not_wait(context):
    opened = replace(context.opening, data={})
    assert confirming.await_confirmation(replace(context, opening=opened), None) == ""


def test_a_run_that_was_called_back_goes_no_further(context, paths):
    call_back(paths, "ada", "wrong model", runner=context.runner)
    assert who_called_back(paths) == "called back by ada: wrong model"
    with pytest.raises(StepFailed, match="called back by ada: wrong model"):
        proving.verify(context)


def test_a_change_has_a_progress_deadline(context, paths, record):
    gate = paths.release(record.id) / "gate.json"
    gate.write_text(gate_text({"progress_deadline_seconds": 100}, {}))
    context.clock.passed = 101.0
    with pytest.raises(StepFailed, match=r"not committed within the progress deadline of 100 s \(101 s have passed\)"):
        proving.verify(context)


def test_giving_up_leaves_nothing_that_boots(context, paths, record, new):
    switch_link(paths.current, f"releases/{new.id}")
    outcome = give_up(context)
    assert outcome.message.startswith("the unit is stopped and stays down, also over a reboot; logs of start 4 in ")
    assert paths.stopped.exists() and link_name(paths.current) == record.id


def test_a_rotation_to_nothing_is_refused_and_what_was_not_used_is_forgotten(paths):
    with pytest.raises(StepFailed, match="no new secrets were staged; use the rotate playbook"):
        rotating.check_staged(paths)
    make_folder(paths.secrets.parent)
    paths.next_secrets.write_text("A='new'\n")
    rotating.check_staged(paths)
    rotating.let_go(paths)
    assert not paths.next_secrets.exists()
