# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Journals, starts, releases and what is observed of them, in a folder that stands for a host."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import releases, starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import MISSING, Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import make_folder, switch_link
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry, read_journal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.observe import observe, services_on_host
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry, JournalError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.retention import KEPT_STARTS


@pytest.fixture
def paths(tmp_path):
    return Paths("chat", str(tmp_path))


def bare_host(argv, **_more):
    return Result(tuple(argv), MISSING, "", f"{argv[0]}: No such file or directory")


def entry(state="staged"):
    return Entry("t", "r1", "stop", state, DONE, "rel-a")


def test_a_journal_goes_on_after_a_torn_record(paths):
    append_entry(paths, entry())
    with paths.journal.open("ab") as stream:
        stream.write(b'{"at": "t", "ru')
    append_entry(paths, entry("preflighted"))
    assert [each.state for each in read_journal(paths).entries] == ["staged", "preflighted"]


def test_a_spoiled_journal_is_not_written_to(paths):
    append_entry(paths, entry())
    paths.journal.write_bytes(b"spoiled\n" + paths.journal.read_bytes())
    before = paths.journal.read_bytes()
    with pytest.raises(JournalError):
        append_entry(paths, entry("preflighted"))
    assert paths.journal.read_bytes() == before


def test_starts_are_counted_on_and_the_oldest_go(paths):
    numbers = [starts.begin(paths, {"invocation_id": f"i{number}"}) for number in range(1, KEPT_STARTS + 4)]
    assert numbers == list(range(1, KEPT_STARTS + 4))
    assert starts.numbers(paths) == numbers[3:]
    assert starts.of_invocation(paths, "i7") == 7
    assert starts.of_invocation(paths, "") is None and starts.of_invocation(paths, "other") is None


def test_what_is_known_of_a_start_grows(paths):
    seq = starts.begin(paths, {"release": "rel-a"})
    starts.update(paths, seq, {"ready": True})
    assert starts.read(paths, seq) == {"seq": 1, "service": "chat", "release": "rel-a", "ready": True}
    (paths.start(seq) / "state.json").write_text("{")
    assert starts.read(paths, seq) == {} and starts.startup(paths, seq) == {}


def test_a_release_folder_is_there_whole_or_not_at_all(paths, monkeypatch):
    releases.write_new(paths, "rel-a", {"run": "#!/bin/sh\n", "release.json": "{}"})
    assert releases.read_files(paths, "rel-a", ["run", "gate.json"]) == {"run": "#!/bin/sh\n"}
    assert (paths.release("rel-a") / "run").stat().st_mode & 0o777 == 0o755

    def broken(*_args, **_more):
        raise OSError("no space")

    monkeypatch.setattr(releases, "write_atomic", broken)
    with pytest.raises(OSError, match="no space"):
        releases.write_new(paths, "rel-b", {"run": ""})
    assert [folder.name for folder in paths.releases.iterdir()] == ["rel-a"]


def test_a_bare_host_is_observed(paths):
    state = observe(paths, runner=bare_host)
    assert (state.unit, state.containers, state.current, state.entries) == (None, None, None, ())
    assert not state.is_there and not state.docker_answers
    assert services_on_host(paths.root) == []


def test_a_deployed_host_is_observed(paths):
    make_folder(paths.releases)
    releases.write_new(paths, "rel-a", {"release.json": '{"content": {"port": 1}}'})
    switch_link(paths.current, "releases/rel-a")
    paths.freeze.write_text("audit until friday\n")
    starts.begin(paths, {"release": "rel-a", "ready_seconds": 12.5})
    append_entry(paths, entry())
    make_folder(paths.volatile)
    paths.open_run.write_text("r1\n")

    def host(argv, **_more):
        seen = (
            "c1 vllm-chat running\nc2 mine paused\n"
            if argv[0] == "docker"
            else "LoadState=loaded\nActiveState=active\n"
        )
        return Result(tuple(argv), 0, seen, "")

    state = observe(paths, runner=host)
    assert state.current == "rel-a" and state.contents == {"rel-a": {"port": 1}}
    assert state.containers == ("c1", "c2") and state.is_running
    assert [(each.name, each.status) for each in state.container_states] == [
        ("vllm-chat", "running"),
        ("mine", "paused"),
    ]
    assert not state.comes_back
    assert state.frozen == "audit until friday" and state.run_of_this_boot == "r1"
    assert state.start_seconds() == 12.5
    assert [each.run for each in state.open_run] == ["r1"]
    assert services_on_host(paths.root) == ["chat"]


def test_a_spoiled_journal_is_told_not_raised(paths):
    make_folder(paths.state)
    paths.journal.write_text("spoiled\n")
    assert "line 1" in observe(paths, runner=bare_host).journal_error
