# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The one function that audits: versions, several services, order, and what cannot be audited at all."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import RULES, audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.releases import NEWEST
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import SEVERITIES

SERVICES = {
    "vllm_services": {
        "chat": {
            "image": "vllm/vllm-openai:v0.26.0",
            "model": "org/chat",
            "revision": "0123456789abcdef0123456789abcdef01234567",
            "port": 8000,
            "gpus": [0],
            "config": {"swap-space": 4},
        },
        "embed": {
            "image": "vllm/vllm-openai:v0.26.0",
            "model": "org/embed",
            "revision": "0123456789abcdef0123456789abcdef01234567",
            "port": 8001,
            "gpus": [1],
            "config": {"task": "embed"},
        },
    }
}


COMPOSE = """\
services:
  chat:
    image: vllm/vllm-openai:v0.26.0
    ipc: host
    command: ["org/chat", "--swap-space", "4"]
  old:
    image: vllm/vllm-openai:v0.17.1
    ipc: host
    command: ["org/chat", "--swap-space", "4"]
"""


@pytest.mark.parametrize("version", ["", "latest", "0.x", "v", "nightly", None, [], "0." * 50])
def test_a_version_that_is_none_is_said(version: object) -> None:
    with pytest.raises(AuditError, match="expected"):
        audit_config({"args": []}, version)  # type: ignore[arg-type]
    if version is not None:
        with pytest.raises(AuditError, match="previous version"):
            audit_config({"args": []}, "0.20.2", version)  # type: ignore[arg-type]


@pytest.mark.parametrize("subject", [None, 3, [], {}, {"nothing": 1}, object()])
def test_what_is_no_subject_is_said(subject: object) -> None:
    with pytest.raises(AuditError):
        audit_config(subject, "0.20.2")


def test_a_tag_with_v_is_a_version() -> None:
    assert audit_config({"args": ["--swap-space", "4"]}, "v0.20.2").version == "0.20.2"


def test_the_image_says_the_version() -> None:
    report = audit_config({"image": "vllm/vllm-openai:v0.33.0-cu129"}, None)
    assert report.version == "0.33.0"
    assert [each.id for each in report.errors] == ["TAG_NOT_PUBLISHED"]
    with pytest.raises(AuditError, match="no version is given"):
        audit_config({"args": []}, None)


def test_a_release_newer_than_the_tables_is_audited_as_the_newest() -> None:
    report = audit_config({"args": ["--brand-new", "--swap-space", "4"]}, "0.99.0")
    assert (report.version, report.audited_as) == ("0.99.0", str(NEWEST))
    severity = {each.id: each.severity for each in report.findings}
    assert severity["version_not_read"] == "warning"
    assert severity["FLAG_UNKNOWN"] == "warning"
    assert severity["FLAG_REMOVED"] == "error"
    assert audit_config({"args": ["--brand-new"]}, str(NEWEST)).errors[0].id == "FLAG_UNKNOWN"


def test_a_release_between_two_that_were_read_is_the_older_one() -> None:
    report = audit_config({"args": []}, "0.20.9", "0.19.9")
    assert report.audited_as == "0.20.2"
    assert "DEFAULT_CHANGED" in {each.id for each in report.findings}


def test_a_release_before_the_tables_is_said() -> None:
    assert "version_not_read" in {each.id for each in audit_config({"args": []}, "0.6.0").findings}


def test_every_service_of_a_subject_is_audited_under_its_name() -> None:
    report = audit_config(SERVICES, "0.26.0", "0.10.2")
    removed = {each.subject for each in report.findings if each.id == "FLAG_REMOVED"}
    assert removed == {"chat --swap-space", "embed --task"}
    assert report.migration is not None
    assert report.migration["services"]["embed"]["config"]["runner"] == "pooling"
    assert "task" not in report.migration["services"]["embed"]["config"]
    assert {each["service"] for each in report.migration["changes"]} == {"chat", "embed"}


def test_without_a_version_each_service_is_audited_for_that_of_its_image() -> None:
    report = audit_config(COMPOSE, None)
    assert (report.name, report.version, report.kind) == ("chat, old", "0.26.0, 0.17.1", "compose")
    assert [each.subject for each in report.findings if each.id == "FLAG_REMOVED"] == ["chat --swap-space"]
    both = audit_config(COMPOSE, "0.26.0").findings
    assert len([each for each in both if each.id == "FLAG_REMOVED"]) == 2


def test_the_worst_comes_first_and_nothing_twice() -> None:
    given = {"args": ["--swap-space", "4", "--swap-space", "8", "--model", "m"], "env": {"VLLM_RPC_TIMEOUT": "1"}}
    found = audit_config(given, "0.26.0", "0.16.0").findings
    ranks = [SEVERITIES.index(each.severity) for each in found]
    assert ranks == sorted(ranks)
    assert len({(each.id, each.subject) for each in found}) == len(found)


def test_the_report_as_data_has_the_code_of_each_finding() -> None:
    data = audit_config({"args": ["--swap-space", "4"]}, "0.20.2").to_dict()
    assert data["findings"][0]["code"] == data["findings"][0]["id"] == "FLAG_REMOVED"
    assert data["migration"] is None


def test_what_could_not_be_read_is_a_finding() -> None:
    found = audit_config({"args": ["--port", "8000"], "host": 3, "typo": 1}, "0.26.0").findings
    assert {each.subject for each in found if each.id == "subject_unreadable"} == {"subject host", "subject typo"}


def test_rules_say_where_they_come_from() -> None:
    assert len(RULES) >= 60
    assert all(rule.id and rule.source and rule.severity in SEVERITIES for rule in RULES)


@pytest.mark.parametrize(
    "words",
    [
        ["--"],
        ["-"],
        ["--="],
        ["---"],
        ["--max-model-len"],
        ["--max-model-len="],
        ["--no-"],
        ["-O"],
        ["--speculative-config", "[1]"],
        ["--speculative-config", "[" * 3000],
        ["--kv-transfer-config.a.b.c"],
        ["\x00", "\u2028", "--\ud800"],
        ["--port", "9" * 500],
    ],
)
def test_rubbish_is_judged_and_raises_nothing(words: list[str]) -> None:
    assert audit_config({"args": words, "env": {"": "", "VLLM_": "x", "VLLM_PORT": "y"}}, "0.26.0", "0.10.0")
