# SPDX-License-Identifier: Apache-2.0
"""What reads the console blocks of runbooks: commands, statuses, and lines that have to come in order."""

from __future__ import annotations

import pytest

from tests.integration.runbook import Shown, blocks_of, first_missing, read_block

BLOCK = """\
$ ansible-playbook -i inventory/hosts.yml gpuhosts.vllm.plan
Plan: 1 service on … host, no error.
host# vllm-host status chat  # exits with 1
chat: inactive
  current    rel-…
"""


def test_a_block_is_its_commands_with_what_they_print():
    plan, status = read_block("page", BLOCK)
    assert plan == Shown(
        on_host=False,
        command="ansible-playbook -i inventory/hosts.yml gpuhosts.vllm.plan",
        status=0,
        lines=("Plan: 1 service on … host, no error.",),
    )
    assert (status.on_host, status.command, status.status) == (True, "vllm-host status chat", 1)
    assert status.lines == ("chat: inactive", "  current    rel-…")


def test_a_block_that_begins_with_output_is_an_error():
    with pytest.raises(AssertionError, match="begins with output"):
        read_block("page", "chat: active\n")


def test_a_page_without_a_block_is_an_error():
    with pytest.raises(AssertionError, match=r"docs/runbooks/verify\.md has no console block"):
        blocks_of("verify")


@pytest.mark.parametrize(
    ("wanted", "missing"),
    [
        (("a 1", "c"), None),
        (("a …", "", "c"), None),
        (("c", "a 1"), "a 1"),  # the order counts
        (("a",), "a"),  # a line is a whole line
        (("b.",), "b."),  # a dot is a dot
        (("…",), None),
    ],
)
def test_lines_have_to_come_whole_and_in_order(wanted, missing):
    assert first_missing(wanted, ["a 1", "bx", "c"]) == missing
