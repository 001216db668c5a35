# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What of the evidence goes when there is too much of it."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import retention
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.retention import to_let_go
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import StartState

MIB = 1 << 20


def start(seq, how):
    """A start that failed (f), was stopped when it served (s), died with its Docker (d), or has no ending (-)."""
    kinds = {
        "f": {"ending": "engine_ended", "fault": True},
        "s": {"ending": "stopped", "fault": False, "ready": True},
        "d": {"ending": "docker_lost", "fault": True},
        "-": {},
    }
    return StartState(seq, data={"seq": seq, **kinds[how]})


def gone(row, count, size=MIB):
    """What goes of a row of starts when so many too many are there."""
    starts = [start(number, how) for number, how in enumerate(row, 1)]
    more = [start(len(row) + number, "s") for number in range(1, retention.KEPT_STARTS - len(row) + count)]
    everything = [*starts, *more]
    return to_let_go(everything, {each.seq: size for each in everything})


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("ssss", [1, 2, 3]),
        ("sfff", [1, 3, 4]),
        ("fffs", [2, 3, 1]),
        ("ffsff", [2, 1, 3]),
        ("fdfff", [2, 1, 4]),
        ("dfffs", [1, 3, 4]),
        ("f-ffs", [2, 3, 4]),
        ("ffff-", [2, 3, 4]),
    ],
)
def test_the_first_failure_of_a_row_outlives_the_rest_of_its_row(row, expected):
    assert gone(row, 3) == expected


def test_nothing_goes_while_there_is_room():
    assert gone("ffff", 0) == []


def test_a_row_of_failures_without_end_keeps_its_first_and_its_newest():
    starts = [start(1, "s"), *(start(number, "f") for number in range(2, 300))]
    kept = {each.seq for each in starts} - set(to_let_go(starts, {}))
    assert {1, 2, 299} <= kept and len(kept) == retention.KEPT_STARTS - 1


def test_large_logs_go_sooner():
    starts = [start(number, "s") for number in range(1, 11)]
    assert to_let_go(starts, {each.seq: 30 * MIB for each in starts}) == [1, 2, 3, 4]
    assert to_let_go(starts[-1:], {10: 900 * MIB}) == []


def test_the_limits_are_those_that_the_runbook_names():
    assert (retention.KEPT_STARTS, retention.KEPT_BYTES) == (50, 200 * MIB)
    assert (retention.HEAD_BYTES, retention.TAIL_BYTES, retention.COMPRESS_FROM) == (16 * MIB, 4 * MIB, MIB)
