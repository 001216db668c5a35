# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The evidence on the controller: its name, and what a report says of it."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail

from ansible_collections.gpuhosts.vllm.plugins.action.vllm_diagnose import ActionModule, bundle_name
from ansible_collections.gpuhosts.vllm.plugins.action.vllm_report import with_diagnosis
from ansible_collections.gpuhosts.vllm.plugins.filter.chosen import chosen
from ansible_collections.gpuhosts.vllm.plugins.module_utils.report import Report, ServiceReport, render_text

FINDING = {
    "id": "kv_cache_too_small",
    "severity": "error",
    "subject": "chat",
    "message": "the KV cache cannot hold one request",
    "observed": ["ValueError: first", "second"],
    "remedy": "lower max-model-len",
    "source": "docs/runbooks/diagnoses/kv_cache_too_small.md",
}
SECTION: dict[str, Any] = {
    "id": "start",
    "title": "What the start says",
    "facts": [{"name": "unit", "value": "failed (failed)", "source": "systemctl show"}],
    "findings": [FINDING],
    "unread": [{"source": "docker", "why": "Docker is not installed"}],
}
DIAGNOSIS = {"service": "chat", "host": "gpu7", "at": "now", "findings": [FINDING], "sections": [SECTION]}
ENTRY = ServiceReport("gpu7", "chat", image="vllm/vllm-openai:v0.32.0", url="http://127.0.0.1:8000")


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("gpu7", "gpu7-chat-20260131T120000Z.tar.gz"),
        ("10.0.0.1", "10.0.0.1-chat-20260131T120000Z.tar.gz"),
        ("fd00::1", "fd00-1-chat-20260131T120000Z.tar.gz"),
        ("../../etc/x y", "etc-x-y-chat-20260131T120000Z.tar.gz"),
        ("..", "x-chat-20260131T120000Z.tar.gz"),
    ],
)
def test_a_bundle_is_named_after_host_service_and_moment(host: str, name: str) -> None:
    assert bundle_name(host, "chat", "2026-01-31T12:00:00Z") == name


def test_the_folder_is_made_for_its_user_alone(tmp_path: Path) -> None:
    ActionModule._write(tmp_path / "a" / "b" / "x.tar.gz", b"data")
    assert (tmp_path / "a" / "b" / "x.tar.gz").read_bytes() == b"data"
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_folder_that_is_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AnsibleActionFail, match=r"vllm_diagnose_folder: .*/file/x cannot be written: "):
        ActionModule._write(tmp_path / "file" / "x", b"data")


def test_a_report_has_the_sections_and_fails_for_their_errors() -> None:
    entry = with_diagnosis(ENTRY, {"diagnosis": DIAGNOSIS, "bundle": "/tmp/x.tar.gz"})
    report = Report("Diagnosis", (entry,))
    assert report.failed
    assert render_text(report).splitlines() == [
        "Diagnosis: 1 service on 1 host, 1 error.",
        "",
        "",
        "gpu7  chat  vllm/vllm-openai:v0.32.0",
        "",
        "    What the start says",
        "    ERROR kv_cache_too_small [chat] the KV cache cannot hold one request -> lower max-model-len",
        "      | ValueError: first",
        "      | second",
        "      see docs/runbooks/diagnoses/kv_cache_too_small.md",
        "      unit: failed (failed)  [systemctl show]",
        "      not read: docker: Docker is not installed",
        "",
        "    evidence: /tmp/x.tar.gz",
    ]


def test_a_service_without_a_diagnosis_is_told_as_before() -> None:
    assert with_diagnosis(ENTRY, None) is ENTRY


def test_services_are_chosen_by_name() -> None:
    entries = [{"name": "chat"}, {"name": "embed"}]
    assert chosen(entries) == chosen(entries, "") == chosen(entries, []) == entries
    assert chosen(entries, "embed") == chosen(entries, ["embed"]) == [{"name": "embed"}]
    assert chosen(entries, "embed, chat") == entries
