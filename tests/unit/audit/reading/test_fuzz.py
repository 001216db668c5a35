# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Rubbish of every kind: the audit gives a report or says AuditError, and never anything else."""

from __future__ import annotations

import json
import random
import string
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config

SILENT = Path(__file__).parent.parent / "silent"
TEXTS = [thing["subject"] for thing in yaml.safe_load((SILENT / "texts.yml").read_text("utf-8"))]
MAPS = [
    thing["subject"] for name in ("maps", "services") for thing in yaml.safe_load((SILENT / f"{name}.yml").read_text())
]
RULE_FILE = """groups:
- name: vllm
  rules:
  - record: job:tokens:rate5m
    expr: sum by (model_name) (rate(vllm:generation_tokens_total[5m]))
  - alert: Full
    expr: vllm:kv_cache_usage_perc > 0.9 and on() vllm:num_requests_waiting > 0
    for: 10m
"""
DASHBOARD = json.dumps(
    {"title": "vLLM", "panels": [{"id": 1, "title": "x", "targets": [{"expr": "vllm:num_requests_running"}]}]}
)
VERSIONS = ("0.7.3", "0.10.2", "0.18.0", "0.33.0", "0.99.0")
PIECES = (
    *("'", '"', "\\", "\n", "\t", "$(", "${A", "`", "{", "}", "[", "]", ":", ": ", "- ", "#", "|", ">", "&a ", "*a"),
    *(
        "<<: ",
        "--",
        "--api-key",
        "=",
        "-p ",
        "[Service]\n",
        "ExecStart=",
        "services:\n",
        "\x00",
        "\ufeff",
        "é",
        "9" * 30,
    ),
    *(
        "- " * 40,
        "[" * 200,
        "{a: " * 60,
        "--- \n",
        "!!python/object:x ",
        "? ",
        "%YAML 9\n",
        ",",
        "null",
        ".nan",
        "1e999",
    ),
)
ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    3.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    [],
    [None],
    [[1]],
    {},
    {"a": {}},
    {1: 2},
)


def mutated(text: str, chance: random.Random) -> str:
    """The text with a few pieces put in, taken out, doubled or moved."""
    for _each in range(chance.randint(1, 6)):
        at, until = sorted(chance.randint(0, len(text)) for _end in range(2))
        until = min(until, at + 40)
        put = chance.choice(
            [chance.choice(PIECES), text[at:until] * 2, "", "".join(chance.choices(string.printable, k=3))]
        )
        text = text[:at] + put + text[until if chance.random() < 0.5 else at :]
    return text


def odd(value: Any, chance: random.Random, depth: int = 0) -> Any:
    """The value with some of what is in it of another type."""
    if chance.random() < 0.12 and depth:
        return chance.choice(ODD)
    if isinstance(value, dict):
        return {
            key if chance.random() < 0.95 else chance.choice((1, None, "x")): odd(each, chance, depth + 1)
            for key, each in value.items()
        }
    return [odd(each, chance, depth + 1) for each in value] if isinstance(value, list) else value


def audited(subject: Any, chance: random.Random) -> bool:
    """Whether there is a report; what it says can be written as JSON."""
    try:
        report = audit_config(subject, chance.choice(VERSIONS), chance.choice((None, None, *VERSIONS)))
    except AuditError as error:
        assert str(error)
        return False
    json.dumps(report.to_dict())
    return True


@pytest.mark.parametrize("seed", range(3))
def test_texts_are_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    seeds = [*TEXTS, RULE_FILE, DASHBOARD]
    read = sum(audited(mutated(chance.choice(seeds), chance), chance) for _each in range(150))
    assert 30 <= read < 150


@pytest.mark.parametrize("seed", range(3))
def test_maps_are_read_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    seeds = [
        *MAPS,
        yaml.safe_load(RULE_FILE),
        json.loads(DASHBOARD),
        *(yaml.safe_load(t) for t in TEXTS if "services:" in t),
    ]
    read = sum(audited(odd(chance.choice(seeds), chance), chance) for _each in range(100))
    assert read >= 30


@pytest.mark.parametrize(
    "given", [*ODD, b"vllm serve m", object(), "\n", "{", "services: {}", "[Service]", "docker run"]
)
def test_what_is_nothing_is_refused_or_reported(given: Any) -> None:
    audited(given, random.Random(1))


@pytest.mark.parametrize("version", ["", "x", "0", "1" * 400, "v0.33.0.0.0", "0.33.0; rm"])
def test_a_version_that_is_none_is_refused(version: str) -> None:
    with pytest.raises(AuditError):
        audit_config("vllm serve m", version)
