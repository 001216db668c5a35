# SPDX-License-Identifier: Apache-2.0
"""An old host (Debian 12, Docker 20.10, cgroup v1) after deploy, verify, stop and start."""

from __future__ import annotations

import json
from typing import Any

from tests.oracle.legal import assert_legal

testinfra_hosts = ["ansible://vllm_scenario"]
ROOM = "/var/lib/gpuhosts-vllm/chat"


def test_it_is_the_old_host(host: Any) -> None:
    assert host.system_info.distribution == "debian"
    assert host.system_info.release.startswith("12")


def test_it_runs_again_and_generates(host: Any) -> None:
    assert host.service("vllm-chat").is_running
    asked = json.dumps({"model": "chat", "prompt": "Hello", "max_tokens": 4})
    answer = host.check_output(
        "curl -sf http://127.0.0.1:8000/v1/completions -H 'Content-Type: application/json' -d %s", asked
    )
    assert json.loads(answer)["choices"][0]["finish_reason"] in ("length", "stop")


def test_it_is_not_marked_as_stopped(host: Any) -> None:
    assert not host.file(f"{ROOM}/stopped").exists


def test_the_journal_tells_the_three_runs(host: Any) -> None:
    records = [json.loads(line) for line in host.file(f"{ROOM}/journal.jsonl").content_string.splitlines()]
    committed = [record["kind"] for record in records if (record["state"], record["phase"]) == ("committed", "done")]
    assert committed == ["first_start", "stop", "start"]


def test_the_host_ends_in_a_legal_state(host: Any) -> None:
    assert_legal(host)
