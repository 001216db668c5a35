# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The verdict on a start under way."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.gate import (
    EXTENSION_MARGIN,
    Gate,
    Moment,
    extension,
    gate_from_dict,
    hard_deadline,
    judge_start,
)

GATE = Gate(silence_seconds=120.0)


@pytest.mark.parametrize(
    ("told", "measured", "expected"),
    [(None, None, 600), (None, 100, 600), (None, 400, 1200), (90, 400, 90)],
)
def test_the_hard_deadline(told, measured, expected):
    assert hard_deadline(Gate(deadline_seconds=told), measured) == expected


@pytest.mark.parametrize(
    ("moment", "verdict"),
    [
        (Moment(5, 5), None),
        (Moment(500, 119.9), None),
        (Moment(5, 5, ready=True), ("ready", "ready after 5.0 s")),
        (Moment(5, 5, alive=False), ("dead", "the engine ended after 5.0 s")),
        (Moment(5, 5, alive=False, ready=True), ("dead", "the engine ended after 5.0 s")),
        (
            Moment(5, 5, cancelled=True, stage="loading"),
            ("cancelled", "the start was cancelled after 5 s at the stage 'loading'"),
        ),
        (Moment(600, 1), ("late", "not ready within the hard deadline of 600 s")),
        (Moment(599, 120, stage="x"), ("silent", "no progress for 120 s at the stage 'x', 599 s after the start")),
        (Moment(700, 130, ready=True), ("ready", "ready after 700.0 s")),
    ],
)
def test_verdicts(moment, verdict):
    assert judge_start(moment, GATE, 600.0) == verdict


def test_systemd_is_asked_for_more_than_the_gate_takes():
    assert extension(Moment(10, 20), GATE, 600.0) == 100 + EXTENSION_MARGIN
    assert extension(Moment(590, 0), GATE, 600.0) == 10 + EXTENSION_MARGIN
    assert extension(Moment(700, 500), GATE, 600.0) == EXTENSION_MARGIN


def test_the_gate_file_with_what_another_version_wrote():
    gate = gate_from_dict(
        {"served_names": ["chat"], "deadline_seconds": None, "drain": {"cap_seconds": 5}, "from_the_future": 1}
    )
    assert gate == Gate(served_names=("chat",), drain_cap_seconds=5)
    assert gate_from_dict({}) == Gate()
