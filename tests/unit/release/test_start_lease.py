# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who has to wait for whom: claims of starts on GPUs, and when they count no more."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.service_state import UnitState
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.start_lease import (
    Claim,
    claim_of,
    counts,
    gpu_request,
    in_the_way,
)

BEGUN = {"gpus": ["0"], "boot": {"marker": "b1", "id": "k"}, "invocation_id": "i1", "begun_monotonic": 7.0}
CLAIM = Claim("chat", ("0",), "b1", "i1")


def test_a_start_that_has_begun_claims_its_gpus():
    assert claim_of("chat", BEGUN) == CLAIM


@pytest.mark.parametrize(
    "changes",
    [
        {"ready": True, "verdict": "ready"},
        {"ending": "stopped"},
        {"invocation_id": ""},
        {"boot": None},
        {"gpus": None},
        {"gpus": {"0": 1}},
    ],
)
def test_one_that_serves_has_ended_or_is_unreadable_claims_nothing(changes):
    assert claim_of("chat", {**BEGUN, **changes}) is None


def test_one_that_waits_itself_claims_nothing():
    assert claim_of("chat", {key: value for key, value in BEGUN.items() if key != "begun_monotonic"}) is None
    assert claim_of("chat", {}) is None


def test_a_start_that_failed_claims_its_gpus_until_its_ending_is_known():
    assert claim_of("chat", {**BEGUN, "ready": False, "verdict": "silent"}) == CLAIM


@pytest.mark.parametrize(
    ("mine", "theirs", "meet"),
    [
        (["0"], ["0"], True),
        (["1"], ["0"], False),
        (["0", "1"], ["1"], True),
        (["0:1"], ["0"], True),
        ("all", ["1"], True),
        (1, ["0"], True),
        (1, ["1"], False),
        (2, 1, True),
        (["GPU-0a1b2c3d"], ["0"], True),  # nobody can tell them apart
        ("none", "all", False),
        ("all", "none", False),
    ],
)
def test_only_starts_that_could_get_the_same_gpu_wait(mine, theirs, meet):
    claim = Claim("chat", gpu_request(theirs), "b1", "i1")
    assert bool(in_the_way(gpu_request(mine), "b1", [claim])) is meet


def test_a_claim_of_an_earlier_boot_is_in_nobodys_way():
    assert in_the_way(("0",), "b2", [CLAIM]) == []


@pytest.mark.parametrize(
    ("active", "sub", "invocation", "held"),
    [
        ("activating", "start-pre", "i1", True),
        ("activating", "start-post", "i1", True),
        ("deactivating", "stop-post", "i1", True),
        ("activating", "start-pre", "i2", False),
        ("activating", "auto-restart", "i1", False),
        ("activating", "auto-restart-queued", "i1", False),
        ("active", "running", "i1", False),
        ("failed", "failed", "i1", False),
        ("inactive", "dead", "", False),
    ],
)
def test_a_claim_counts_while_its_very_start_is_on_its_way(active, sub, invocation, held):
    assert counts(CLAIM, UnitState("loaded", active, sub, invocation_id=invocation)) is held


def test_when_systemd_does_not_answer_nobody_begins():
    assert counts(CLAIM, None)


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        (["0"], "chat (GPU 0)"),
        (["0", "1"], "chat (GPUs 0, 1)"),
        ("all", "chat (all GPUs)"),
        (1, "chat (the first GPU)"),
        (2, "chat (the first 2 GPUs)"),
    ],
)
def test_a_claim_is_named_for_people(gpus, words):
    assert str(Claim("chat", gpu_request(gpus), "b1", "i1")) == words
