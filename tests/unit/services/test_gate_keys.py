# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the gate and the hook of a service become in gate.json; none of it is part of the release's id."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.gate import gate_from_dict
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.content import gate_record
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.parse import parse_services

SERVICE = {"image": "vllm/vllm-openai:v0.32.0", "model": "/srv/m", "port": 8000}


def gate_of(**more):
    (service,) = parse_services({"chat": {**SERVICE, **more}}, {}, {})
    return gate_record(service)


def test_golden_prompts_reach_the_host_as_they_are_asked():
    gate = gate_of(gate={"golden_prompts": [{"prompt": "2 + 2 =", "expect": " 4"}, {"prompt": "x", "pattern": "y"}]})
    assert gate["golden_prompts"] == [
        {"prompt": "2 + 2 =", "max_tokens": 32, "expect": " 4", "share": 0.8},
        {"prompt": "x", "max_tokens": 32, "pattern": "y", "share": 0.8},
    ]
    assert [each["prompt"] for each in gate_from_dict(gate).golden_prompts] == ["2 + 2 =", "x"]


def test_a_progress_deadline_and_a_hook():
    gate = gate_of(gate={"progress_deadline": "30m"}, notify={"command": ["/usr/local/bin/page", "vllm"]})
    assert gate["progress_deadline_seconds"] == 1800
    assert gate_from_dict(gate).progress_deadline_seconds == 1800
    assert gate_from_dict(gate).notify == {"command": ["/usr/local/bin/page", "vllm"]}


def test_a_gate_of_an_older_tool_has_neither():
    gate = gate_from_dict({"url": "http://127.0.0.1:8000"})
    assert (gate.golden_prompts, gate.progress_deadline_seconds, dict(gate.notify)) == ((), None, {})
    assert "notify" not in gate_of()
