# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's half: ask until the work has ended, also over a connection that breaks."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleConnectionFailure

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.follow import TRIES, follow


class Action:
    """What of an action is used."""

    def __init__(self):
        self.lines = []
        self.resets = 0
        self._display = self
        self._connection = self

    def display(self, line):
        self.lines.append(line)

    def reset(self):
        self.resets += 1


def answers(*results):
    asked = []
    left = list(results)

    def run_module(arguments):
        asked.append(arguments)
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    run_module.asked = asked
    return run_module


GOES_ON = {"finished": False, "follow": "r1", "progress": ["a"]}
DONE = {"finished": True, "changed": True, "progress": ["a", "b"]}


def test_each_line_is_shown_once_and_the_run_is_asked_for_by_its_id():
    action, module = Action(), answers(GOES_ON, GOES_ON, DONE)
    assert follow(action, module, sleep=lambda _seconds: None) == DONE
    assert action.lines == ["  a", "  b"]
    assert module.asked == [{}, {"follow": "r1"}, {"follow": "r1"}]


def test_a_cut_connection_is_made_again_and_said_once():
    cut = AnsibleConnectionFailure("no route")
    action, module = Action(), answers(GOES_ON, cut, cut, DONE)
    assert follow(action, module, sleep=lambda _seconds: None) == DONE
    assert action.resets == 2
    assert len([line for line in action.lines if "the connection was cut" in line]) == 1


def test_it_gives_up_in_the_end_and_at_once_when_nothing_has_begun():
    cut = AnsibleConnectionFailure("no route")
    with pytest.raises(AnsibleConnectionFailure):
        follow(Action(), answers(GOES_ON, *[cut] * TRIES), sleep=lambda _seconds: None)
    with pytest.raises(AnsibleConnectionFailure):
        follow(Action(), answers(cut), sleep=lambda _seconds: None)


def test_a_failure_ends_it():
    failed = {"failed": True, "finished": False, "msg": "no"}
    assert follow(Action(), answers(failed), sleep=lambda _seconds: None) == failed
