# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""After a restart: runs of an earlier boot are ended, the others get a driver, and no trouble spreads."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import resume as verb
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.lost_starts import note_lost
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.resume import PATIENCE, resume
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import lease, link_name, make_folder
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry, read_journal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import RECORD_NAME
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, INTENT, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths

AT = "2026-11-30T12:00:00.000Z"


class FastClock(Clock):
    """Sleeping takes no time, but the clock goes on."""

    passed = 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


class Host:
    """Services in a folder, and a systemd whose drivers do what they are told at once."""

    def __init__(self, root):
        self.root, self.clock = str(root), FastClock()
        self.driven, self.running = [], set()
        self.refuses, self.ends_as = set(), {}

    def __call__(self, argv, **_more):
        if argv[0] == "systemd-run":
            service = argv[-1]
            if service in self.refuses:
                return Result(tuple(argv), 1, "", "Failed to start transient service unit: no room")
            self.driven.append(service)
            self.running.add(service)
            if service in self.ends_as:
                self.note(service, *self.ends_as[service])
            return Result(tuple(argv), 0, "", "")
        driver = argv[-1].removeprefix("gpuhosts-vllm-run-").removesuffix(".service")
        return Result(tuple(argv), 0, f"ActiveState={'active' if driver in self.running else 'inactive'}", "")

    def paths(self, service):
        return Paths(service, self.root)

    def note(self, service, state, phase=DONE, message=""):
        append_entry(self.paths(service), Entry(AT, "r1", "first_start", state, phase, "rel-a", message=message))

    def cut(self, service, *, this_boot=False, ends_as=("rolled_back",)):
        """Let a first start have been cut off, and say how it ends when it is driven; None: it hangs."""
        self.note(service, "staged")
        self.note(service, "starting", INTENT)
        if ends_as:
            self.ends_as[service] = ends_as
        if this_boot:
            make_folder(self.paths(service).volatile)
            self.paths(service).open_run.write_text("r1\n")

    def resume(self, *services):
        return resume([self.paths(service) for service in services], runner=self, clock=self.clock)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def test_a_run_of_an_earlier_boot_is_driven_to_its_end(host, capsys):
    host.cut("chat", ends_as=("rolled_back", DONE, "the host restarted in the middle of the run"))
    assert host.resume("chat") == []
    assert host.driven == ["chat"]
    said = capsys.readouterr().out
    assert "the run r1 has not ended, the host restarted in the middle of it" in said
    assert "first start of chat (rel-a) failed and was taken back: the host restarted" in said


def test_a_second_time_there_is_nothing_to_do(host, capsys):
    host.cut("chat")
    host.resume("chat")
    before = read_journal(host.paths("chat")).entries
    capsys.readouterr()
    assert host.resume("chat") == []
    assert (host.driven, capsys.readouterr().out) == (["chat"], "")
    assert read_journal(host.paths("chat")).entries == before


def test_a_run_of_this_boot_gets_a_driver_and_nobody_waits_for_it(host):
    host.cut("chat", this_boot=True, ends_as=None)
    assert host.resume("chat") == []
    assert (host.driven, host.clock.passed) == (["chat"], 0.0)


def test_a_run_that_is_driven_is_left_alone(host):
    host.cut("chat", this_boot=True, ends_as=None)
    with lease(host.paths("chat").lease, "pid 1"):
        assert host.resume("chat") == []
    assert host.driven == []


def test_one_that_hangs_is_named_and_holds_up_no_other(host, capsys):
    host.cut("chat", ends_as=None)
    host.cut("embed", ends_as=None)
    host.cut("small")
    assert host.resume("chat", "embed", "small") == ["chat", "embed"]
    assert host.driven == ["chat", "embed", "small"]
    assert host.clock.passed <= PATIENCE + 1
    said = capsys.readouterr()
    assert "chat: the run r1 has not ended in 60 s and goes on; watch it with vllm-host status chat" in said.err
    assert "first start of small (rel-a) failed and was taken back" in said.out


def test_a_driver_that_cannot_be_started_and_a_torn_journal_are_named_and_the_rest_goes_on(host, capsys):
    for service in ("chat", "embed", "small"):
        host.cut(service)
    host.refuses.add("chat")
    journal = host.paths("embed").journal
    journal.write_text("torn\n" + journal.read_text())
    assert host.resume("chat", "embed", "small") == ["chat", "embed"]
    said = capsys.readouterr().err
    assert "chat: its driver could not be started: Failed to start transient service unit: no room" in said
    assert "embed: line 1 of the journal is not a record" in said
    assert host.driven == ["small"]


def test_a_run_that_could_not_be_taken_back_is_a_failure(host, capsys):
    host.cut("chat", ends_as=("rollback_failed",))
    assert host.resume("chat") == ["chat"]
    assert "taking it back failed too: look at the host" in capsys.readouterr().err


def test_a_bug_in_one_service_is_one_line(host, capsys, monkeypatch):
    host.cut("small")
    monkeypatch.setattr(verb, "note_lost", lambda paths, _clock: 1 / 0 if paths.service == "chat" else [])
    assert host.resume("chat", "small") == ["chat"]
    assert "chat: unexpected ZeroDivisionError: division by zero" in capsys.readouterr().err
    assert host.driven == ["small"]


def test_the_verb_finds_services_that_have_a_journal_only(host, monkeypatch):
    host.note("chat", "staged")
    host.note("chat", "preflighted", FAILED)
    host.note("chat", "aborted")
    monkeypatch.setenv("VLLM_HOST_ROOT", host.root)
    seen = []
    monkeypatch.setattr(verb, "resume", lambda services: seen.extend(paths.service for paths in services))
    assert verb.main([]) == 0
    assert seen == ["chat"]


BOOT = {"marker": "another", "id": "k"}


def test_a_start_that_was_lost_with_its_host_gets_an_ending(host, capsys):
    paths = host.paths("chat")
    starts.begin(paths, {"gpus": "none", "boot": BOOT, "invocation_id": "i1", "begun_monotonic": 1.0})
    starts.begin(paths, {"gpus": "none", "boot": BOOT, "invocation_id": "i2", "ready": True, "verdict": "ready"})
    assert host.resume("chat") == []
    first, second = starts.read(paths, 1), starts.read(paths, 2)
    assert [each["ending"] for each in (first, second)] == ["host_lost", "host_lost"]
    assert (first["ready"], first["verdict"]) == (False, "cut_off")
    assert first["reason"].startswith("the start was cut off: the host went down")
    assert (second["ready"], second["verdict"]) == (True, "ready")
    assert all(each["ended_at"] and isinstance(each["fault"], bool) for each in (first, second))
    assert "chat: start 2 was lost with its host" in capsys.readouterr().out
    assert note_lost(paths, host.clock) == []


def test_an_ending_that_is_known_and_a_start_of_this_boot_stay_as_they_are(host):
    paths = host.paths("chat")
    starts.begin(paths, {"boot": BOOT, "ending": "stopped", "ended_at": "t"})
    starts.begin(paths, {"boot": BOOT, "ended_at": "t", "service_result": "success"})  # of a tool without endings
    starts.begin(paths, {})
    make_folder(paths.volatile)
    paths.boot_marker.write_text("now\n")
    starts.begin(paths, {"boot": {"marker": "now", "id": "k"}, "gpus": "none"})
    before = [starts.read(paths, seq) for seq in (1, 2, 3, 4)]
    assert note_lost(paths, host.clock) == []
    assert [starts.read(paths, seq) for seq in (1, 2, 3, 4)] == before


def test_where_no_run_is_open_damaged_pointers_are_put_right(tmp_path, capsys):
    host = Host(tmp_path)
    paths = host.paths("chat")
    host.note("chat", "committed")
    make_folder(paths.release("rel-a"))
    (paths.release("rel-a") / RECORD_NAME).write_text("{}")
    paths.current.symlink_to("releases/rel-000000000000")
    assert resume([paths], runner=host, clock=host.clock) == []
    assert [link_name(each) for each in (paths.current, paths.last_good)] == ["rel-a", "rel-a"]
    assert "chat: put back before this start: last_good is rel-a, current is rel-a" in capsys.readouterr().out
    assert resume([paths], runner=host, clock=host.clock) == [] and host.driven == []
    assert capsys.readouterr().out == ""
