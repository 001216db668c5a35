# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Work on a host is followed to its end, over a cut connection too."""

from __future__ import annotations

import signal
import time
from types import SimpleNamespace

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.follow import TRIES, Manner, follow, limited, whose


def followed(answers):
    """Follow a module that gives these answers in turn; what was shown, what was asked, the result."""
    shown, asked, turns = [], [], iter(answers)

    def run_module(more):
        asked.append(more)
        answer = next(turns)
        if isinstance(answer, Exception):
            raise answer
        return answer

    action = SimpleNamespace(_display=SimpleNamespace(display=shown.append))
    return shown, asked, lambda: follow(action, run_module, sleep=lambda seconds: None)


def going(*lines):
    return {"changed": True, "finished": False, "follow": "pull-1", "progress": list(lines)}


def test_what_is_done_at_once_is_asked_once():
    shown, asked, run = followed([{"changed": False, "finished": True, "progress": []}])
    assert run() == {"changed": False, "finished": True, "progress": []}
    assert (shown, asked) == ([], [{}])


def test_each_line_is_shown_once_and_the_last_answer_counts():
    shown, asked, run = followed([going("a"), going("a", "b"), {"changed": True, "finished": True, "progress": ["c"]}])
    assert run()["finished"] is True
    assert [line.strip() for line in shown] == ["a", "b", "c"]
    assert asked == [{}, {"follow": "pull-1"}, {"follow": "pull-1"}]


def test_what_the_next_call_is_told_is_told_after_each_result():
    turns, asked = iter([going(), going("a"), {"finished": True}]), []

    def run_module(more):
        asked.append(more)
        return next(turns)

    manner = Manner(again=lambda result: {"lines": len(result["progress"])})
    action = SimpleNamespace(_display=SimpleNamespace(display=lambda line: None))
    follow(action, run_module, sleep=lambda seconds: None, manner=manner)
    assert asked == [{}, {"lines": 0}, {"lines": 1}]


def test_a_failure_ends_it():
    _shown, asked, run = followed([going(), {"failed": True, "msg": "no", "finished": False}])
    assert run()["msg"] == "no"
    assert len(asked) == 2


def test_a_cut_connection_is_tried_again():
    cut = AnsibleConnectionFailure("cut")
    shown, _asked, run = followed([going(), cut, cut, {"changed": True, "finished": True}])
    assert run()["finished"] is True
    assert sum("the work goes on" in line for line in shown) == 1


def test_and_not_for_ever():
    cut = AnsibleConnectionFailure("cut")
    _shown, _asked, run = followed([going(), *[cut] * TRIES])
    with pytest.raises(AnsibleConnectionFailure, match=r"cut\. The work goes on on the host\. Next: run"):
        run()


def test_who_cannot_be_reached_at_all_is_not_followed():
    _shown, _asked, run = followed([AnsibleConnectionFailure("no route")])
    with pytest.raises(AnsibleConnectionFailure, match=r"no route.*Next: run the same again"):
        run()


def test_a_host_that_falls_silent_is_asked_again():
    turns = iter([going(), "silence", {"changed": True, "finished": True}])
    shown = []

    def run_module(_more):
        answer = next(turns)
        if answer == "silence":
            time.sleep(20)
        return answer

    began = time.monotonic()
    action = SimpleNamespace(_display=SimpleNamespace(display=shown.append))
    assert follow(action, run_module, sleep=lambda seconds: None, answer=0.2)["finished"] is True
    assert time.monotonic() - began < 5
    assert any("no answer within 0.2 s" in line for line in shown)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_task_s_own_timeout_goes_first():
    signal.setitimer(signal.ITIMER_REAL, 30)
    try:
        with limited(0.05):
            time.sleep(0.1)
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 20
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def test_lines_of_several_hosts_are_told_apart():
    assert whose({"ansible_play_batch": ["a", "b"], "inventory_hostname": "b"}) == "b: "
    assert whose({"ansible_play_batch": ["a"], "inventory_hostname": "a"}) == ""
    shown = []
    action = SimpleNamespace(_display=SimpleNamespace(display=shown.append))
    follow(action, lambda more: {"finished": True, "progress": ["ready"]}, manner=Manner(whose="b: "))
    assert shown == ["  b: ready"]


def test_patience_is_counted_in_tries():
    cut = AnsibleConnectionFailure("cut")
    answers = iter([going(), *[cut] * 9])

    def run_module(_more):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    action = SimpleNamespace(_display=SimpleNamespace(display=lambda line: None))
    with pytest.raises(AnsibleConnectionFailure, match="run the same again"):
        follow(action, run_module, sleep=lambda seconds: None, manner=Manner(tries=2))
    assert len(list(answers)) == 7


def test_a_run_that_waits_for_a_word_is_not_followed_on():
    shown, asked, run = followed([going("soaking"), {**going("soaking"), "awaits_confirm": True}])
    assert run()["awaits_confirm"] is True
    assert (len(shown), len(asked)) == (1, 2)
