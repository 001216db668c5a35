# SPDX-License-Identifier: Apache-2.0
"""The bench of the audit measures fresh processes, and its exit status follows the limit."""

from __future__ import annotations

import re

import pytest

from tests.bench.audit import in_child, main, missed


def test_it_prints_each_part_and_keeps_a_wide_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", "1", "--limit", "60000"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^audit of one service, \d+ findings, median of 1, Python 3", printed)
    for name in ("import [+] audit", "import", "audit", "whole", "empty"):
        assert re.search(rf"^{name}\s+[\d.]+ ms   least\s+[\d.]+   most\s+[\d.]+$", printed, re.MULTILINE)


def test_a_limit_that_is_not_kept_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runs", "1", "--limit", "0"]) == 1
    assert "above the limit:" in capsys.readouterr().out
    assert missed(151, 150) == ["151 ms, at most 150"]
    assert missed(150, 150) == []


def test_the_service_of_the_bench_is_one_of_which_there_is_much_to_say() -> None:
    assert in_child()["findings"] >= 5
