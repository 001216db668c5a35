# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The journal: what is written comes back, what is torn is told apart."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import (
    DONE,
    FAILED,
    INTENT,
    Entry,
    JournalError,
    first_failure,
    format_entry,
    last_run,
    open_run,
    opening,
    outcome,
    parse_journal,
)


def entry(state="staged", phase=DONE, run="r1", kind="first_start", **more):
    return Entry("2026-11-30T12:00:00.000Z", run, kind, state, phase, "rel-1", **more)


ENTRIES = (
    entry(by="ada", why="first", data={"previous": None}),
    entry("preflighted", INTENT),
    entry("preflighted", FAILED, message="no image\nat all: 画"),
    entry("aborted"),
)
RAW = "".join(map(format_entry, ENTRIES)).encode()


def test_what_is_written_comes_back():
    journal = parse_journal(RAW)
    assert journal.entries == ENTRIES
    assert (journal.good_bytes, journal.torn) == (len(RAW), False)
    assert RAW.count(b"\n") == 4


def test_an_empty_journal_has_no_run():
    assert parse_journal(b"").entries == ()
    assert last_run(()) == () and open_run(()) == ()


@pytest.mark.parametrize("length", range(1, len(format_entry(ENTRIES[-1]).encode())))
def test_a_torn_last_record_is_dropped_wherever_it_was_torn(length):
    whole = RAW[: -len(format_entry(ENTRIES[-1]).encode())]
    journal = parse_journal(whole + format_entry(ENTRIES[-1]).encode()[:length])
    assert journal.entries == ENTRIES[:-1]
    assert (journal.good_bytes, journal.torn) == (len(whole), True)


def test_a_torn_record_in_the_middle_is_an_error_that_names_its_line():
    lines = RAW.splitlines(keepends=True)
    with pytest.raises(JournalError, match="line 2 "):
        parse_journal(lines[0] + lines[1][:20] + b"\n" + lines[2])
    with pytest.raises(JournalError, match="line 1 "):
        parse_journal(b'{"at": 1}\n' + lines[0])


@pytest.mark.parametrize(
    "line",
    [
        b"[]\n",
        b"\n",
        b"\xff\n",
        RAW.splitlines()[0].replace(b'"first_start"', b'"party"') + b"\n",
        RAW.splitlines()[0].replace(b'"staged"', b'"draining"') + b"\n",
        RAW.splitlines()[0].replace(b'"done"', b'"perhaps"') + b"\n",
    ],
)
def test_a_whole_line_that_is_no_record_is_an_error_also_as_the_last(line):
    with pytest.raises(JournalError):
        parse_journal(RAW + line)


def test_runs_are_told_apart():
    entries = (*ENTRIES, entry(run="r2", kind="stop"), entry("preflighted", INTENT, run="r2", kind="stop"))
    assert {each.run for each in open_run(entries)} == {"r2"}
    assert outcome(last_run(ENTRIES)) == "aborted"
    assert open_run(ENTRIES) == ()
    assert first_failure(ENTRIES).message == "no image\nat all: 画"
    assert opening(ENTRIES).by == "ada"
    with pytest.raises(JournalError):
        opening(ENTRIES[1:])


def test_a_failed_end_is_no_end():
    assert outcome((*ENTRIES[:1], entry("committed", FAILED))) is None
