# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The driver: every step is announced and told; one that dies anywhere is replaced by one that goes on."""

from __future__ import annotations

import itertools
import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import driver as driver_module
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.driver import ACTIONS, Driver
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.following import (
    result_of,
    watch,
    watch_for_failure,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.lost_starts import is_of_an_earlier_boot
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.opening import Request, open_run, start_driver
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Outcome, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import boots, starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import append_line, read_if_there
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry, read_journal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import states
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import FAILED, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.view import step_line


class Killed(BaseException):
    """SIGKILL, as far as a test can have it."""


def actions(**special):
    """Steps that do nothing but be counted, except for those that a test gives."""
    done = []

    def counted(state):
        def act(context):
            done.append(state)
            return special.get(state, lambda _context: Outcome(f"{state} reached"))(context)

        return act

    made = {state: counted(state) for state in ACTIONS}
    return made, done


def fails(message):
    def act(_context):
        raise StepFailed(message, {"seq": 3})

    return act


def breaks(_context):
    raise RuntimeError("a bug")


def entries(paths):
    return read_journal(paths).entries


def test_a_run_is_driven_to_its_commit_and_journalled(paths):
    run_id = open_run(paths, Request("first_start", "rel-a", "ada", "because"))
    assert read_if_there(paths.open_run) == run_id + "\n"
    made, done = actions()
    assert Driver(paths, actions=made).drive() == "committed"
    assert done == list(states.PATHS["first_start"][1:])
    assert [(each.state, each.phase) for each in entries(paths)][:3] == [
        ("staged", "done"),
        ("preflighted", "intent"),
        ("preflighted", "done"),
    ]
    assert (entries(paths)[0].by, entries(paths)[0].why) == ("ada", "because")
    assert not paths.open_run.exists()
    assert "committed" in read_if_there(paths.progress)


@pytest.mark.parametrize("act", [fails("no memory"), breaks])
def test_a_failed_step_is_taken_back_with_its_reason(paths, act):
    open_run(paths, Request("first_start", "rel-a"))
    made, done = actions(starting=act)
    assert Driver(paths, actions=made).drive() == "rolled_back"
    assert done[-2:] == ["starting", "rolling_back"]
    last = entries(paths)[-1]
    assert last.message in ("no memory", "unexpected RuntimeError: a bug")
    result = result_of(paths, entries(paths))
    assert result["finished"] and result["changed"] and result["result"] == "rolled_back"
    assert last.message in result["summary"]
    assert result["diff"]["before"] == result["diff"]["after"]


@pytest.mark.parametrize(("verdict", "said"), [("dead", True), ("cancelled", False), ("cut_off", False)])
def test_why_a_start_failed_is_said_unless_it_was_interrupted(paths, verdict, said):
    seq = starts.begin(paths, {})
    report = {"state": "failed", "diagnosis": "port_in_use", "evidence": ["OSError: [Errno 98]"]}
    (paths.start(seq) / "startup.json").write_text(json.dumps(report))

    def dies(_context):
        raise StepFailed("the engine ended", {"seq": seq, "verdict": verdict})

    open_run(paths, Request("first_start", "rel-a"))
    made, _done = actions(starting=dies)
    assert Driver(paths, actions=made).drive() == "rolled_back"
    result = result_of(paths, entries(paths))
    page = "runbook: docs/runbooks/diagnoses/port_in_use.md"
    why = ["diagnosis: the address is taken (port_in_use)", "  OSError: [Errno 98]", page]
    assert result["why"] == (why if said else [])
    assert [finding["id"] for finding in result["findings"]] == (["port_in_use"] if said else [])


def test_a_failed_preflight_touches_nothing(paths):
    open_run(paths, Request("stop", "rel-a"))
    made, done = actions(preflighted=fails("no"))
    assert Driver(paths, actions=made).drive() == "aborted"
    assert done == ["preflighted"]
    assert result_of(paths, entries(paths))["changed"] is False


def dying(real, death, when):
    """Give a journal that kills its writer at one write, before or after the record reached the disk."""
    writes = itertools.count(1)

    def append_entry(paths, entry):
        this = next(writes)
        if when == "after":
            real(paths, entry)
        if this == death:
            raise Killed
        if when == "before":
            real(paths, entry)

    return append_entry


@pytest.mark.parametrize("kind", list(states.PATHS))
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_driver_that_dies_anywhere_is_replaced(paths, kind, when):
    """Killed at each of its journal writes, before or after it reached the disk, a next driver ends the run."""
    real = driver_module.append_entry
    for death in range(1, 14):
        open_run(paths, Request(kind, "rel-a"))
        driver_module.append_entry = dying(real, death, when)
        try:
            Driver(paths, actions=actions()[0]).drive()
        except Killed:
            pass
        finally:
            driver_module.append_entry = real
        made, done = actions()
        Driver(paths, actions=made).drive()
        records = entries(paths)
        assert records[-1].state == "committed" and records[-1].phase == "done"
        assert len(done) <= 8


def test_what_cannot_be_journalled_is_not_done(paths, monkeypatch):
    open_run(paths, Request("stop", "rel-a"))

    def full(_paths, _entry):
        raise OSError("No space left on device")

    monkeypatch.setattr(driver_module, "append_entry", full)
    made, done = actions()
    with pytest.raises(OSError, match="No space"):
        Driver(paths, actions=made).drive()
    assert done == []


def test_a_reboot_ends_a_start_but_not_a_stop(paths):
    for kind, end in (("first_start", "aborted"), ("stop", "committed")):
        open_run(paths, Request(kind, "rel-a"))
        paths.open_run.unlink()
        assert Driver(paths, actions=actions()[0]).drive() == end


def test_a_second_run_waits_for_the_first(paths):
    first = open_run(paths, Request("first_start", "rel-a"))
    with pytest.raises(ToolError, match=f"chat: {first} has not ended"):
        open_run(paths, Request("stop", "rel-a"))


def test_nothing_to_drive(paths):
    assert Driver(paths, actions=actions()[0]).drive() is None


def systemd(rc=0, err=""):
    asked = []

    def run(argv, **_more):
        asked.append(argv[0])
        if argv[0] == "systemctl":
            return Result(tuple(argv), 0, "ActiveState=inactive\nMainPID=0\n", "")
        return Result(tuple(argv), rc, "", err)

    run.asked = asked
    return run


def test_a_run_that_nobody_can_drive_is_aborted(paths):
    open_run(paths, Request("first_start", "rel-a"))
    with pytest.raises(ToolError, match="could not be started: no D-Bus"):
        start_driver(paths, runner=systemd(1, "no D-Bus"))
    assert entries(paths)[-1].state == "aborted" and not paths.open_run.exists()
    open_run(paths, Request("first_start", "rel-a"))


class FastClock(Clock):
    """Sleeping takes no time, but the clock goes on."""

    def __init__(self):
        self.passed = 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


def test_a_failure_ends_the_watch_of_who_has_not_seen_it(paths):
    run_id = open_run(paths, Request("change", "rel-a"))
    entry = Entry("t", run_id, "change", "starting", FAILED, "rel-a", message="the engine died", data={"took": 0.4})
    append_entry(paths, entry)
    clock, runner = FastClock(), systemd()
    append_line(paths.progress, "starting: loading weights")
    assert watch_for_failure(paths, run_id, 3.0, clock=clock, runner=runner)["step_failed"] is False  # not told yet
    append_line(paths.progress, step_line(entry))
    before = clock.passed
    result = watch_for_failure(paths, run_id, 3.0, clock=clock, runner=runner)
    assert (result["step_failed"], result["finished"], clock.passed) == (True, False, before)
    assert "starting failed (0.4 s): the engine died" in result["progress"]
    assert watch(paths, run_id, 3.0, clock=clock, runner=runner)["step_failed"] is True
    assert clock.passed >= before + 3.0


def test_a_start_of_an_earlier_boot_is_lost_to_its_run(paths):
    seq = starts.begin(paths, {"boot": {"marker": "another"}})
    mine = starts.begin(paths, {"boot": {"marker": boots.marker(paths)}})
    assert [is_of_an_earlier_boot(paths, each) for each in (seq, mine, mine + 1, None)] == [True, False, False, False]


def test_whoever_watches_replaces_a_dead_driver_once(paths):
    run_id = open_run(paths, Request("first_start", "rel-a"))
    runner = systemd()
    result = watch(paths, run_id, 3.0, clock=FastClock(), runner=runner)
    assert runner.asked.count("systemd-run") == 1
    assert (result["finished"], result["result"], result["follow"]) == (False, None, run_id)
    with pytest.raises(ToolError, match="the journal knows no run 'other'"):
        watch(paths, "other", 0.0, clock=FastClock(), runner=runner)
