# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What of an audit fails."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.verdict import FAIL_ON, failing_at, summary
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding

FOUND = [
    Finding("c", "info", "s", "m"),
    Finding("b", "warning", "s", "m"),
    Finding("a", "error", "s --x", "gone", remedy="take it out"),
    Finding("w", "error", "s", "m", waived_until="2999-01-01"),
]


@pytest.mark.parametrize(("level", "ids"), [("error", ["a"]), ("warning", ["a", "b"]), ("never", [])])
def test_a_level_takes_what_is_worse_and_nothing_that_is_waived(level, ids):
    assert level in FAIL_ON
    assert [finding.id for finding in failing_at(FOUND, level)] == ids


def test_the_message_has_the_worst_and_counts_the_others():
    assert summary("chat", "0.32.0", failing_at(FOUND, "error")) == (
        "chat is not right for vLLM 0.32.0: 1 finding\n  - ERROR a [s --x] gone -> take it out"
    )
    text = summary("chat", "0.32.0", [FOUND[2]] * 7)
    assert text.count("ERROR a") == 5
    assert "7 findings" in text and text.endswith("and 2 more, in `findings`")
