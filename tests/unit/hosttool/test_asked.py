# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a run is told when it is opened, and what is said of it before."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.asked import opened_with, told_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.decide import Decision
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths

OLD, NEW = "rel-aaaaaaaaaaaa", "rel-bbbbbbbbbbbb"


@pytest.mark.parametrize(
    ("within", "accept", "data"),
    [
        (None, False, {}),
        ("10m", False, {"confirm_seconds": 600}),
        ("90", True, {"confirm_seconds": 90, "accept_no_rollback": True}),
    ],
)
def test_a_run_is_told_what_it_was_asked_for(within, accept, data):
    assert opened_with({"service": "chat", "confirm_within": within, "accept_no_rollback": accept}) == data


def test_a_time_that_is_none_is_named():
    with pytest.raises(ToolError, match=r"chat: confirm_within: expected a time such as 90s, 2m or 1h.*, got 'soon'"):
        opened_with({"service": "chat", "confirm_within": "soon", "accept_no_rollback": False})


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("change", f"current: {OLD}\nservice: running\n", f"current: {NEW}\nservice: running\n"),
        ("first_start", "current: none\nservice: stopped\n", f"current: {NEW}\nservice: running\n"),
        ("stop", "current: none\nservice: running\n", "current: none\nservice: stopped\n"),
    ],
)
def test_the_difference_is_told_before_anything_is_done(tmp_path, kind, before, after):
    paths = Paths("chat", str(tmp_path))
    paths.state.mkdir(parents=True)
    paths.current.symlink_to(f"releases/{OLD}")
    told = told_of(paths, Decision(kind, NEW, reason="because"))
    assert told["diff"] == {"before": before, "after": after}
    assert (told["changed"], told["summary"]) == (True, "chat: because")
    assert told_of(paths, Decision(reason="it is there"))["diff"] == {}
