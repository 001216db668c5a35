# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""From a crash before, in and after every step, with torn and short writes and reboots, a run of any kind ends well.

The driver, the journal, the pointers, the secrets and what is put right before a start are the real ones, on a folder
that stands for a host. The engine is a model: which release runs, and since which boot.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import driver as driver_module
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.committed import (
    boots_what_was_committed,
    put_right,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.driver import Driver
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.going_back import put_back
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.opening import Request, open_run
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, Outcome, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.switching import commit, switch
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import releases
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import (
    Disk,
    link_name,
    make_folder,
    remove,
    switch_link,
    write_atomic,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry, read_journal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import states
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text, immutable_files
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, Entry, outcome, runs
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import HostFacts, make_record

from .conftest import CONTENT

OLD = make_record("chat", CONTENT, HostFacts("sha256:" + "ab" * 32))
NEW = make_record("chat", {**CONTENT, "shm_size": "2g"}, HostFacts("sha256:" + "ab" * 32))
BEFORE, AFTER = "A='before'\n", "A='after'\n"


class Killed(BaseException):
    """The driver is gone, as after a SIGKILL or a power cut."""


class TornDisk(Disk):
    """Writes so many bytes of the next record, then the power is gone."""

    def __init__(self, left: int):
        self.left = left

    def write(self, descriptor, data):
        super().write(descriptor, data[: self.left])
        raise Killed


class ShortDisk(Disk):
    """A disk that is full in the middle of a record."""

    def write(self, descriptor, data):
        return super().write(descriptor, data[: len(data) // 2])


def systemctl(argv, **_more):
    """Nothing runs by systemd here, and no shutdown is under way."""
    return Result(tuple(argv), 0, "ActiveState=inactive\n" if argv[1] == "show" else "", "")


@dataclass
class World:
    """One host: its files are real, its engine and its boots are told here."""

    paths: Paths
    fails: frozenset[str]
    crashes: Iterator[tuple[str, int]]
    engine: str | None = None
    secrets: str = ""
    seen: list[str] = field(default_factory=list)
    steps: int = 0

    def crash(self, point: str) -> None:
        """Die here, when it is time for it."""
        self.steps += 1
        assert self.steps < 400, "the run does not end"
        where, _how = self.next
        if where == f"{point}":
            self.next = next(self.crashes, ("", 0))
            raise Killed

    def __post_init__(self) -> None:
        self.next = next(self.crashes, ("", 0))

    def start(self, release: str | None) -> None:
        """What systemd and the unit do: before-start puts right what is not a run's, then the current release runs."""
        put_right(self.paths)
        assert self.engine is None, f"two engines: {self.engine} and {release}"
        self.engine = link_name(self.paths.current)
        self.secrets = self.paths.secrets.read_text()

    def stop(self) -> None:
        self.engine = None

    def boot(self, resume_first: bool) -> None:
        """A restart: what was in memory is gone, then services start, with or before what ends a cut run."""
        self.engine = None
        for name in (self.paths.open_run, self.paths.confirmed, self.paths.awaits):
            remove(name)
        if not resume_first or boots_what_was_committed(self.paths):
            self.boots()

    def boots(self) -> None:
        good = self.paths.last_good.is_symlink() and not self.paths.stopped.exists()
        if not good or self.engine is not None:
            return
        self.start(None)
        committed = {entry.release for entry in read_journal(self.paths).entries if entry.state == "committed"}
        assert self.engine in committed, f"{self.engine} boots, which was never committed"


def actions(world: World):  # noqa: C901 - one small function a state
    """The steps: those about files are real, those about the engine are the model's; each may die or fail."""

    def step(name, inner):
        def act(context: Context) -> Outcome:
            world.crash(f"before {name}")
            if name in world.fails:
                raise StepFailed(f"{name} cannot be reached", {"seq": 1} if name == "starting" else {})
            done = inner(context)
            world.crash(f"after {name}")
            return done

        return act

    def nothing(_context):
        return Outcome()

    def stop(context):
        if context.opening.kind not in states.REPLACING_KINDS:
            write_atomic(world.paths.stopped, "x\n")
        world.stop()
        return Outcome()

    def start(context):
        if world.engine is not None:  # a driver before this one has started it, or something else the old one
            world.stop()
        world.start(context.release)
        assert world.engine == context.release, f"{world.engine} was started, not {context.release}"
        return Outcome("", {"seq": 2})

    def go_back(context):
        target = context.told("way_back")
        world.stop()
        if context.opening.kind in states.STARTING_KINDS or not target:
            previous = context.told("previous")
            switch_link(world.paths.current, f"releases/{previous}") if previous else remove(world.paths.current)
            if context.told("was_stopped"):
                write_atomic(world.paths.stopped, "x\n")
            return Outcome()
        put_back(world.paths, target)
        world.crash("in rolling_back")
        if context.told("was_running"):
            world.start(target)
            assert (world.engine, world.secrets) == (target, BEFORE)
        return Outcome()

    def give_up(_context):
        write_atomic(world.paths.stopped, "x\n")
        world.stop()
        good = link_name(world.paths.last_good)
        put_back(world.paths, good) if good else remove(world.paths.current)
        return Outcome()

    made = {
        "preflighted": nothing,
        "draining": nothing,
        "stopped": stop,
        "switched": switch,
        "starting": start,
        "verifying": nothing,
        "soaking": nothing,
        "committed": commit,
        "rolling_back": go_back,
        "rollback_failed": give_up,
    }
    return {name: step(name, inner) for name, inner in made.items()}


def make_world(folder: Path, kind: str, fails: frozenset[str], crashes) -> World:
    """A host that serves OLD (or has never served), and the run that is about to begin."""
    paths = Paths("chat", str(folder))
    for record in (OLD, NEW):
        releases.write_new(paths, record.id, {**immutable_files(record), "gate.json": gate_text({}, {})})
    make_folder(paths.volatile)
    make_folder(paths.secrets.parent)
    paths.secrets.write_text(BEFORE)
    world = World(paths, fails, iter(crashes))
    if kind != states.FIRST_START:
        for link in (paths.current, paths.last_good):
            switch_link(link, f"releases/{OLD.id}")
        for release in (NEW.id, OLD.id) if kind == states.ROLLBACK else (OLD.id,):
            for state in ("staged", "committed"):
                append_entry(paths, Entry("t", f"past-{release}", "first_start", state, DONE, release))
        if kind == states.START:
            write_atomic(paths.stopped, "x\n")
        else:
            world.start(OLD.id)
    if kind == states.ROTATE:
        paths.next_secrets.write_text(AFTER)
    return world


def drive_to_the_end(world: World, resume_first: bool, monkeypatch) -> None:
    """Drivers come and go until the run has ended; each crash is told with how it happens."""
    real = driver_module.append_entry

    def append(paths, entry):
        where, how = world.next
        if where == f"record {entry.state} {entry.phase}":
            world.next = next(world.crashes, ("", 0))
            if how % 3 == 0:
                raise Killed
            real(paths, entry, TornDisk(how % 40) if how % 3 == 1 else ShortDisk())
        real(paths, entry)

    monkeypatch.setattr(driver_module, "append_entry", append)
    for _turn in range(60):
        how = world.next[1]
        try:
            Driver(world.paths, actions=actions(world), runner=systemctl).drive()
        except Killed:
            if how & 1:
                world.boot(resume_first)
            continue
        except OSError:  # what cannot be journalled is not done; systemd begins again
            continue
        return
    raise AssertionError("after 60 drivers the run has not ended")


POINTS = [
    *(f"{when} {state}" for when in ("before", "after") for state in states.PATHS["change"][1:]),
    *(f"{when} {state}" for when in ("before", "in", "after") for state in ("rolling_back", "rollback_failed")),
    *(f"record {state} {phase}" for state in states.PATHS["change"][1:] for phase in ("intent", "done", "failed")),
    *(f"record {state} {phase}" for state in ("rolling_back", "rollback_failed") for phase in ("intent", "done")),
]
CRASHES = st.lists(st.tuples(st.sampled_from(POINTS), st.integers(0, 99)), max_size=4)
CAN_FAIL = ("preflighted", "draining", "stopped", "starting", "verifying", "soaking", "rolling_back")
FAILS = st.frozensets(st.sampled_from(CAN_FAIL), max_size=2)


@pytest.mark.parametrize("kind", states.PATHS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(crashes=CRASHES, fails=FAILS, resume_first=st.booleans())
def test_whatever_happens_a_run_ends_and_nothing_unproven_boots(kind, crashes, fails, resume_first):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as monkeypatch:
        world = make_world(Path(folder), kind, fails, crashes)
        release = OLD.id if kind in (states.START, states.ROTATE, states.STOP, states.REMOVE) else NEW.id
        request = Request(
            kind, release, "ada", data={"was_running": kind in (*states.REPLACING_KINDS, "stop", "remove")}
        )
        open_run(world.paths, request, runner=systemctl)
        drive_to_the_end(world, resume_first, monkeypatch)
        judge(world, kind, release)


def judge(world: World, kind: str, release: str) -> None:
    """What has to be true at the end, whatever came before it."""
    paths, records = world.paths, runs(read_journal(world.paths).entries)[-1]
    end = outcome(records)
    assert end in states.TERMINAL
    current, good = link_name(paths.current), link_name(paths.last_good)
    assert sum(each.state == "rolling_back" and each.phase != "intent" for each in records) <= 1
    if any(each.phase == FAILED for each in records):
        assert end != "committed"
    if kind in states.REPLACING_KINDS:
        assert good == (release if end == "committed" else OLD.id), "the way back was lost"
        assert current == good
        after = AFTER if (kind, end) == (states.ROTATE, "committed") else BEFORE
        assert paths.secrets.read_text() == after and not paths.back_secrets.exists()
        if end == "rollback_failed":
            assert world.engine is None and paths.stopped.exists()
        else:
            world.boots()  # where the run was ended by a boot, the unit starts behind it
            assert (world.engine, world.secrets) == (good, after)
    world.boot(resume_first=True)
