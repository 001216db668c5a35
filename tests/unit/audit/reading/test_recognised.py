# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a text or a map is taken for, and documents that cannot be read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.read import read_subject, read_subjects
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import Expression
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

VERSION = parse_version("0.32.0")
RULES = {"groups": [{"name": "vllm", "rules": [{"alert": "Full", "expr": "vllm:kv_cache_usage_perc > 0.9"}]}]}
BOARD = {"title": "t", "panels": [{"id": 4, "title": "KV", "targets": [{"expr": "vllm:num_requests_running"}]}]}
RULES_TEXT = """\
# alerts
groups:
- name: vllm
  rules:
  - alert: Full
    expr: >-
      vllm:kv_cache_usage_perc
      > 0.9
"""
SERVICE_TEXT = "image: vllm/vllm-openai:v0.32.0\nmodel: /srv/m\nport: 8000\nconfig: {max-model-len: 32k}\n"
COMPOSE_TEXT = "services:\n  chat:\n    image: vllm/vllm-openai:v0.32.0\n    command: [m, --port, '80']\n"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("vllm serve m", "serve"),
        ("#!/bin/sh\nset -e\nexport A=1\nexec vllm serve m\n", "serve"),
        ("docker run vllm/vllm-openai:v0.32.0 m", "docker run"),
        ("docker \\\n  run \\\n  vllm/vllm-openai:v0.32.0 m", "docker run"),
        ("# start: up\ndocker run vllm/vllm-openai:v0.32.0 m", "docker run"),
        ("[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/vllm serve m\n", "unit"),
        ("# docker run\n[Service]\r\nExecStart=/usr/bin/docker run vllm/vllm-openai:v0.32.0 m\r\n", "unit"),
        (COMPOSE_TEXT, "compose"),
        ("---\n" + COMPOSE_TEXT, "compose"),
        ("name: mine\n" + COMPOSE_TEXT, "compose"),
        (json.dumps({"services": {"chat": {"image": "vllm/vllm-openai:v0.32.0"}}}), "compose"),
        ({"services": {"chat": {"image": "vllm/vllm-openai:v0.32.0"}}}, "compose"),
        (RULES_TEXT, "prometheus rules"),
        (RULES, "prometheus rules"),
        ({"apiVersion": "monitoring.coreos.com/v1", "kind": "PrometheusRule", "spec": RULES}, "prometheus rules"),
        (json.dumps(BOARD), "grafana dashboard"),
        ("\ufeff" + json.dumps({"dashboard": BOARD}, indent=2), "grafana dashboard"),
        (BOARD, "grafana dashboard"),
        (SERVICE_TEXT, "service"),
        ("args: [--port, 80]\n", "map"),
        ({"image": "x", "env": {}}, "map"),
        ({"args": [], "model": "m"}, "map"),
    ],
)
def test_what_it_is_taken_for(given: Any, kind: str) -> None:
    subject = read_subject(given, VERSION)
    assert subject.kind == kind
    assert read_subject(given, VERSION, kind=kind) == subject
    assert read_subject(given, VERSION, kind=kind.upper().replace(" ", "_")) == subject


def test_the_text_of_a_rule_file_has_its_expressions() -> None:
    subject = read_subject(RULES_TEXT, VERSION, "rules.yml")
    assert subject.name == "rules.yml"
    assert subject.expressions == (Expression("group vllm alert Full", "vllm:kv_cache_usage_perc > 0.9"),)


def test_of_several_documents_those_that_are_subjects_count() -> None:
    text = f"apiVersion: v1\nkind: ConfigMap\n---\n{RULES_TEXT}---\n{SERVICE_TEXT}"
    assert [one.kind for one in read_subjects(text, VERSION)] == ["prometheus rules", "service"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("services:\n  chat: {image: [\n", "line"),
        ("services:\n\tchat: x\n", "line 2"),
        ("a: 1\na: 2\n", "'a' is given twice"),
        ("a: 1\n", "nothing to audit"),
        ("[]", "no map"),
        ("- a\n- b\n", "expected"),
        ("{", "line 1"),
        ('{"a": 1', "line 1"),
        ("{" * 5000, "too deep"),
        ("[" * 100_000, "too deep"),
    ],
)
def test_a_document_that_cannot_be_read_says_why(given: str, says: str) -> None:
    with pytest.raises(AuditError, match=says):
        read_subject(given, VERSION)


def test_a_kind_that_is_none_is_named() -> None:
    with pytest.raises(AuditError, match="'kubernetes' is no kind of subject; expected one of serve, docker run"):
        read_subject("vllm serve m", VERSION, kind="kubernetes")
