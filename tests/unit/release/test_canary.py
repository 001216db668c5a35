# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The canary against the rest: what holds, what does not, what cannot be compared."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.canary import Measured, compare, table_lines

ARGS = ["--max-model-len", "1024"]


def seen(host="a", tokens=1000, seconds=0.1, failed=(), args=None):
    return Measured(host, failed, tokens, [9.0, *[seconds] * 5], ARGS if args is None else args)


def verdicts(compared):
    return [row.holds for row in compared.rows]


def test_a_canary_like_the_rest_holds_and_its_warm_up_does_not_count():
    compared = compare(seen(tokens=950), seen(), [seen("b"), seen("c")])
    assert verdicts(compared) == [True, True, True, True]
    assert compared.holds and compared.problems == []


@pytest.mark.parametrize(
    ("canary", "index", "problem"),
    [
        (seen(failed=["claim_generates"]), 0, "claims: claim_generates, allowed is all hold"),
        (
            seen(tokens=949),
            1,
            "KV tokens, as itself before: 949, allowed is 950 or more (1,000 before)",
        ),
        (seen(tokens=None), 1, "KV tokens, as itself before: unknown, allowed is 950 or more (1,000 before)"),
        (
            seen(seconds=0.351),
            3,
            "latency, median of 5: 0.351 s, allowed is 0.350 s or less (0.100 s median of the rest)",
        ),
    ],
)
def test_what_speaks_against_a_canary(canary, index, problem):
    compared = compare(canary, seen(), [seen("b"), seen("c")])
    assert compared.rows[index].holds is False
    assert compared.problems[0] == problem
    assert not compared.holds


def test_a_slow_fleet_has_a_wider_bound():
    assert compare(seen(seconds=1.9), None, [seen("b", seconds=1.0)]).holds
    assert not compare(seen(seconds=2.1), None, [seen("b", seconds=1.0)]).holds


def test_a_canary_that_was_not_measured_does_not_hold():
    compared = compare(Measured("a"), None, [seen("b")])
    assert verdicts(compared) == [True, None, None, False]


def test_another_configuration_is_not_compared():
    compared = compare(seen(tokens=10), seen(args=["--max-model-len", "2048"]), [seen("b", args=[])])
    assert verdicts(compared) == [True, None, None, True]


def test_a_fleet_of_one_is_compared_with_its_past():
    compared = compare(seen(seconds=0.6), seen(seconds=0.1), [])
    assert compared.problems == ["latency, median of 5: 0.600 s, allowed is 0.350 s or less (0.100 s before)"]
    assert verdicts(compare(seen(), None, [])) == [True, None, None, None]


def test_the_table_is_for_people():
    lines = table_lines("a", "chat", compare(seen(tokens=900), seen(), [seen("b")]))
    assert lines[0] == "chat: the canary and the rest"
    assert lines[1].split() == ["canary", "a", "rest", "allowed"]
    assert lines[3].endswith("DIFFERS") and "900" in lines[3] and "950 or more" in lines[3]
    assert lines[5].endswith("ok")
