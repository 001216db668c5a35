# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Every rule across fields: what it fires at, and the near miss at which it stays silent."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.case import Case
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.rules.all import RULES
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import (
    DOCKER_RUN,
    SERVE,
    Container,
    HostFacts,
    Publish,
    Subject,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.line_reader import read_command_line
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import SEVERITIES, Finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

HERE = Path(__file__).parent
TABLE = [entry for path in sorted(HERE.glob("*.yml")) for entry in yaml.safe_load(path.read_text("utf-8"))]
BY_ID = {rule.id: rule for rule in RULES}
RUBBISH = ("", "x", "-1", "0", "1e9", "{", "[]", "null", "{}", '{"a": [', "\u0000", "../..", "$X", "9" * 400)


def container(
    image: str | None = "vllm/vllm-openai:v0.33.0", publishes: tuple[str, ...] = (), **more: Any
) -> Container:
    """A docker run container; a published port is written ADDRESS:HOST:CONTAINER."""
    ports = tuple(Publish(*port.rsplit(":", 2)) for port in publishes)
    lists = {name: tuple(value) if isinstance(value, list) else value for name, value in more.items()}
    return Container(DOCKER_RUN, image=image, publishes=ports, **lists)


def ask(rule: str, scene: dict[str, Any]) -> list[Finding]:
    """Ask one rule about a scene of the tables."""
    version = parse_version(str(scene.get("version", "0.33.0")))
    words = tuple(shlex.split(scene["line"])) if "line" in scene else None
    parts = {name: scene[name] for name in ("env", "host_bind", "has_key") if name in scene}
    subject = Subject(
        SERVE,
        "chat",
        words=words,
        container=container(**scene["container"]) if "container" in scene else None,
        host=HostFacts(**scene["host"]) if "host" in scene else None,
        **parts,
    )
    line = read_command_line(words, version) if words is not None else None
    return list(BY_ID[rule].check(Case(subject, version, line)))


def scenes(key: str) -> list[Any]:
    """The scenes of one kind, each with its rule."""
    return [
        pytest.param(entry, scene, id=f"{entry['rule']}-{number}")
        for entry in TABLE
        for number, scene in enumerate(entry[key])
    ]


@pytest.mark.parametrize(("entry", "scene"), scenes("fires"))
def test_it_fires(entry: dict[str, Any], scene: dict[str, Any]) -> None:
    found = ask(entry["rule"], scene)
    assert [finding.id for finding in found] == [entry["rule"]] * scene.get("times", 1)
    first = found[0]
    assert first.severity == scene.get("severity", entry["severity"])
    assert first.subject == f"chat {scene['about']}"
    assert scene.get("says", "") in first.message
    assert first.message and first.remedy and first.source


@pytest.mark.parametrize(("entry", "scene"), scenes("silent"))
def test_it_stays_silent(entry: dict[str, Any], scene: dict[str, Any]) -> None:
    assert ask(entry["rule"], scene) == []


def test_every_rule_fires_somewhere_and_is_silent_somewhere() -> None:
    assert {entry["rule"] for entry in TABLE} == set(BY_ID)
    assert len(BY_ID) == len(RULES)
    assert all(entry["fires"] and entry["silent"] for entry in TABLE)


def test_a_rule_says_where_it_comes_from_and_how_bad_it_is() -> None:
    assert all(rule.severity in SEVERITIES and rule.source and rule.id == rule.id.lower() for rule in RULES)
    assert {entry["rule"]: entry["severity"] for entry in TABLE} == {rule.id: rule.severity for rule in RULES}


def test_nothing_is_said_of_parts_that_are_not_there() -> None:
    case = Case(Subject(SERVE, "chat"), parse_version("0.33.0"))
    assert [finding for rule in RULES for finding in rule.check(case)] == []


def test_a_service_with_nothing_but_a_model_is_silent() -> None:
    for text in ("0.9.2", "0.19.1", "0.33.0"):
        version = parse_version(text)
        words = ("Qwen/Qwen3-8B", "--disable-log-requests") if text == "0.9.2" else ("Qwen/Qwen3-8B",)
        case = Case(Subject(SERVE, "chat", words=words), version, read_command_line(words, version))
        assert [finding for rule in RULES for finding in rule.check(case)] == []


@pytest.mark.parametrize("value", RUBBISH)
def test_rubbish_never_raises(value: str) -> None:
    version = parse_version("0.33.0")
    names = sorted({f"--{word}" for entry in TABLE for scene in entry["fires"] for word in options(scene)})
    variables = {name: value for entry in TABLE for scene in entry["fires"] for name in scene.get("env", {})}
    odd = Container(DOCKER_RUN, image=value, gpus=value, network=value, mounts=(value,))
    odd = dataclasses.replace(odd, publishes=(Publish(value, value, value),))
    for name in names:
        for words in ((value, name), ("m", name, value), ("m", f"{name}={value}")):
            subject = Subject(
                SERVE, "chat", words, env=variables, container=odd, host=HostFacts(compute_capability=value)
            )
            case = Case(dataclasses.replace(subject, host_bind=value), version, read_command_line(words, version))
            for rule in RULES:
                list(rule.check(case))


def options(scene: dict[str, Any]) -> list[str]:
    """The option names of a scene, without dashes."""
    return [word[2:].split("=")[0] for word in shlex.split(scene.get("line", "")) if word.startswith("--")]
