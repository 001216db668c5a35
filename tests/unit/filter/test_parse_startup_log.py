# SPDX-License-Identifier: Apache-2.0
"""The filter that reads a start-up log: text or lines, plain data, one sentence for anything else."""

from __future__ import annotations

import json

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.gpuhosts.vllm.plugins.filter.parse_startup_log import parse_startup_log

TEXT = "vllm: error: unrecognized arguments: --swap-space 8\n"


@pytest.mark.parametrize("given", [TEXT, TEXT.splitlines()])
def test_text_and_lines_give_the_same_plain_map(given: object) -> None:
    found = json.loads(json.dumps(parse_startup_log(given)))
    assert (found["state"], found["diagnosis"]) == ("failed", "unrecognized_arguments")
    assert found["details"] == {"argument": "--swap-space 8"}
    remedy = "take it out (swapping was V0 only; --kv-offloading-size (0.11.1) moves cache blocks to the host)"
    assert found["remedy"] == f"--swap-space is gone since 0.18.0: {remedy}"
    assert found["evidence"] == [TEXT.strip()]


@pytest.mark.parametrize("given", [None, 3, b"bytes", {"a": 1}, ["line", 2]])
def test_anything_else_is_refused_in_one_sentence(given: object) -> None:
    with pytest.raises(AnsibleFilterError, match="expected the text of a log or a list of its lines, got "):
        parse_startup_log(given)
