# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a journal says of the past: a rollback goes down a row of good releases, and never up it again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.history import (
    committed_releases,
    failed_before,
    good_releases,
    past_runs,
    way_down,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, Entry, parse_journal


def run(number, kind, release, end="committed", *, previous=None, cause="", verdict=None, why=""):
    """The records of one run that has ended."""
    name = f"{kind}-{number}"
    opened = Entry("t", name, kind, "staged", DONE, release, by="ada", why=why, data={"previous": previous})
    data = {"verdict": verdict} if verdict else {}
    failure = (Entry("t", name, kind, "starting", FAILED, release, message=cause, data=data),) if cause else ()
    return (opened, *failure, Entry("t", name, kind, end, DONE, release, message=cause))


FIRST = run(1, "first_start", "rel-a")
SECOND = run(2, "change", "rel-b", previous="rel-a")
THIRD = run(3, "change", "rel-c", previous="rel-b")
BACK = run(4, "rollback", "rel-b", previous="rel-c", why="slow")


@pytest.mark.parametrize(
    ("entries", "row"),
    [
        ((), ()),
        (FIRST, ("rel-a",)),
        ((*FIRST, *run(2, "start", "rel-a")), ("rel-a",)),
        ((*FIRST, *SECOND), ("rel-a", "rel-b")),
        ((*FIRST, *run(2, "change", "rel-b", "rolled_back", cause="no memory")), ("rel-a",)),
        ((*FIRST, *SECOND, *THIRD, *BACK), ("rel-a", "rel-b")),
        ((*FIRST, *SECOND, *THIRD, *run(4, "rollback", "rel-a", previous="rel-c")), ("rel-a",)),
        ((*FIRST, *SECOND, *run(3, "rotate", "rel-b", previous="rel-b")), ("rel-a", "rel-b")),
        ((*FIRST, *SECOND, *run(3, "remove", "rel-b")), ()),
        ((*FIRST, *SECOND, *run(3, "change", "rel-a", previous="rel-b")), ("rel-a", "rel-b", "rel-a")),
    ],
)
def test_the_row_of_good_releases(entries, row):
    assert good_releases(entries) == row


def test_a_second_rollback_does_not_lead_forward_again():
    entries = (*FIRST, *SECOND)
    assert way_down(entries, "rel-b", "rel-b") == "rel-a"
    entries = (*entries, *run(3, "rollback", "rel-a", previous="rel-b"))
    assert way_down(entries, "rel-a", "rel-a") is None
    assert committed_releases(entries) == ("rel-a", "rel-b")


def test_what_is_not_the_last_good_one_goes_back_to_it():
    assert way_down(FIRST, "rel-x", "rel-a") == "rel-a"
    assert way_down(FIRST, None, "rel-a") == "rel-a"
    assert way_down((), None, None) is None


@pytest.mark.parametrize(
    ("entries", "release", "cause"),
    [
        (FIRST, "rel-a", None),
        ((*FIRST, *run(2, "change", "rel-b", "rolled_back", cause="no memory")), "rel-b", "no memory"),
        ((*FIRST, *run(2, "change", "rel-b", "rollback_failed", cause="no memory")), "rel-b", "no memory"),
        # what somebody stopped, or a reboot cut off, did not fail
        ((*FIRST, *run(2, "change", "rel-b", "rolled_back", cause="stopped", verdict="cancelled")), "rel-b", None),
        ((*FIRST, *run(2, "change", "rel-b", "rolled_back")), "rel-b", None),
        # an aborted run has tried nothing: what was known before still holds
        (
            (
                *run(1, "change", "rel-b", "rolled_back", cause="no memory"),
                *run(2, "change", "rel-b", "aborted", cause="x"),
            ),
            "rel-b",
            "no memory",
        ),
        # tried again, and good
        ((*run(1, "change", "rel-b", "rolled_back", cause="no memory"), *run(2, "change", "rel-b")), "rel-b", None),
        # left by a human
        ((*FIRST, *SECOND, *THIRD, *BACK), "rel-c", "ada went back from it with rollback-4: slow"),
        ((*FIRST, *SECOND, *THIRD, *BACK), "rel-b", None),
        # a rotation that failed says nothing against the release
        ((*FIRST, *run(2, "rotate", "rel-a", "rolled_back", previous="rel-a", cause="401")), "rel-a", None),
    ],
)
def test_why_a_release_is_not_tried_again(entries, release, cause):
    assert failed_before(release, entries) == cause


def test_the_past_in_short():
    past = past_runs((*FIRST, *run(2, "change", "rel-b", "rolled_back", previous="rel-a", cause="no memory")))
    assert [(each.kind, each.release, each.result, each.reason, each.by) for each in past] == [
        ("first_start", "rel-a", "committed", "", "ada"),
        ("change", "rel-b", "rolled_back", "no memory", "ada"),
    ]
    assert past[1].previous == "rel-a"


RUNS = st.lists(
    st.tuples(
        st.sampled_from(["first_start", "start", "change", "rollback", "rotate", "stop", "remove"]),
        st.sampled_from(["rel-a", "rel-b", "rel-c"]),
        st.sampled_from(["committed", "rolled_back", "rollback_failed", "aborted"]),
    ),
    max_size=8,
)


@given(RUNS)
def test_whatever_happened_the_row_holds_only_what_was_committed(made):
    entries = tuple(
        entry
        for number, (kind, release, end) in enumerate(made)
        for entry in run(number, kind, release, end, previous="rel-a", cause="" if end == "committed" else "x")
    )
    row = good_releases(entries)
    assert set(row) <= set(committed_releases(entries))
    assert all(one != other for one, other in zip(row, row[1:]))
    if row:
        assert way_down(entries, row[-1], row[-1]) == (row[-2] if len(row) > 1 else None)


def test_a_journal_of_a_newer_tool_is_refused_by_name():
    line = b'{"schema": 3, "at": "t", "run": "r", "kind": "change", "state": "staged", "phase": "done", "new": 1}\n'
    with pytest.raises(
        ValueError, match=r"line 1 of the journal has schema 3, this tool reads up to 2; a newer vllm-host"
    ):
        parse_journal(line)
    old = b'{"at": "t", "run": "r", "kind": "start", "state": "staged", "phase": "done", "release": "rel-a"}\n'
    assert parse_journal(old).entries[0].release == "rel-a"
