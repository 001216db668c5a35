# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What Ansible, sudo, su and doas say when somebody does not become root, in words with the next command."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import not_let, ran_as_other


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Missing sudo password", "sudo asks ops for a password, and none was given. Next: run it again with --ask-be"),
        ("Task failed: Incorrect su password", "su asks ops for a password, and the one that was given is wrong."),
        ("\r\nops is not in the sudoers file.\r\n", "ops may not become root: ops is not in the sudoers file."),
        ("Sorry, user ops is not allowed to execute '/bin/sh' as root on gpu1.", "Expected: root, or a user whom sudo"),
        ("sudo: sorry, you must have a tty to run sudo\n", "you must have a tty"),
        ("sudo: a password is required", "a password is required"),
        ("/bin/sh: 1: sudo: not found", "sudo: not found"),
        ("su: Authentication failure", "Authentication failure"),
        ("doas: Operation not permitted", "ops may not become root: doas: Operation not permitted."),
        ("Timeout (12s) waiting for privilege escalation prompt: ", "ops never was asked for a password"),
    ],
)
def test_a_refusal_is_told_with_user_and_next_step(said, told):
    text = not_let("ops", said)
    assert text and told in text and "Next: " in text


@pytest.mark.parametrize(
    "said",
    ["", "/usr/bin/python3: not found", "sudo: unable to resolve host gpu1", "Traceback (most recent call last):"],
)
def test_what_is_not_about_rights_is_left_alone(said):
    assert not_let("ops", said) is None


def test_a_module_that_runs_as_somebody_else_says_what_it_expected():
    text = ran_as_other("ops (uid 1000)")
    assert text.startswith("this ran as ops (uid 1000), expected root") and "become: true" in text
