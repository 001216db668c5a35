# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A run as people read it."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, FAILED, INTENT, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.view import run_summary, run_view, step_line


def entry(second, state, phase, message="", **data):
    return Entry(
        f"2026-11-30T12:00:{second:06.3f}Z", "r1", "first_start", state, phase, "rel-a", message=message, data=data
    )


RECORDS = (
    entry(0, "staged", DONE),
    entry(1, "preflighted", INTENT),
    entry(1.5, "preflighted", DONE),
    entry(2, "starting", INTENT),
    entry(3, "starting", INTENT),
    entry(14.25, "starting", FAILED, "exit code 1", took=12.25),
    entry(14.3, "rolling_back", INTENT, "exit code 1"),
    entry(15, "rolling_back", DONE, "stopped"),
    entry(15, "rolled_back", DONE, "exit code 1"),
)


def test_steps_have_an_outcome_and_seconds():
    steps = [(step["state"], step["outcome"], step["seconds"]) for step in run_view(RECORDS)["steps"]]
    assert steps == [
        ("staged", "done", None),
        ("preflighted", "done", 0.5),
        ("starting", "failed", 11.25),
        ("rolling_back", "done", 0.7),
        ("rolled_back", "done", None),
    ]


def test_a_step_under_way_is_running():
    assert run_view(RECORDS[:4])["steps"][-1]["outcome"] == "running"


def test_summaries():
    assert run_summary("chat", RECORDS[:4]) == "first start of chat (rel-a) is at starting"
    assert run_summary("chat", RECORDS) == "first start of chat (rel-a) failed and was taken back: exit code 1"
    committed = (*RECORDS[:3], entry(4, "committed", DONE, "last good is rel-a"))
    assert run_summary("chat", committed) == "first start of chat (rel-a) committed"


def test_lines_for_those_who_watch():
    lines = [line for line in map(step_line, RECORDS) if line]
    assert lines[2] == "starting failed (12.2 s): exit code 1"
    assert lines[-1] == "rolled_back: exit code 1"
