# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Service definitions: what a host would run of them, and definitions that cannot be used."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.read import (
    read_subject,
    read_subjects,
    subject_of_service,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import Container, Publish
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.content import release_content
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.parse import parse_services
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

VERSION = parse_version("0.32.0")
SERVICE: dict[str, Any] = {
    "image": "vllm/vllm-openai:v0.32.0",
    "model": "/srv/models/qwen3",
    "port": 8001,
    "gpus": 2,
    "shm_size": "4g",
    "config": {"tensor_parallel_size": 2, "enable-prefix-caching": False, "hf-overrides": {"a": 1}},
    "env": {"VLLM_LOGGING_LEVEL": "INFO"},
}


def test_what_a_host_would_run() -> None:
    subject = read_subject(SERVICE, VERSION, "chat")
    assert (subject.kind, subject.name) == ("service", "chat")
    assert subject.words == (
        *("/srv/models/qwen3", "--no-enable-prefix-caching", "--hf-overrides", '{"a":1}'),
        *("--host", "0.0.0.0", "--port", "8001", "--tensor-parallel-size", "2"),
    )
    assert subject.container == Container(
        runner="gpuhosts",
        image="vllm/vllm-openai:v0.32.0",
        shm_bytes=4 << 30,
        network="bridge",
        publishes=(Publish("127.0.0.1", "8001", "8001"),),
        gpus="2",
    )
    assert (subject.env or {})["VLLM_LOGGING_LEVEL"] == "INFO"
    assert (subject.host_bind, subject.has_key, subject.exposed_without_key) == ("127.0.0.1", False, False)
    assert (subject.command, subject.unit, subject.raw_text, subject.problems) == (None, None, None, ())


def test_a_judged_service_is_the_same_subject() -> None:
    (service,) = parse_services({"chat": SERVICE})
    subject = subject_of_service(service)
    assert subject == read_subject(SERVICE, VERSION, "chat")
    assert subject.words == tuple(release_content(service, "sha256:" + "0" * 64)["args"])


def test_a_key_has_a_name_and_no_value() -> None:
    services = {"vllm_services": {"chat": SERVICE}, "vllm_secrets": {"chat": {"VLLM_API_KEY": "hush-hush-hush"}}}
    subject = read_subject(services, VERSION)
    assert subject.has_key is True
    assert subject.container is not None
    assert subject.container.secret_env == ("VLLM_API_KEY",)
    assert "hush" not in repr(subject) + str(subject.env) + str(subject.words)


@pytest.mark.parametrize(("said", "expected"), [({}, False), ({"exposed_without_key": True}, True)])
def test_an_open_server_is_for_the_audit_to_find(said: dict[str, Any], expected: bool) -> None:
    subject = read_subject({**SERVICE, "bind": "0.0.0.0", **said}, VERSION, "chat")
    assert (subject.host_bind, subject.has_key, subject.exposed_without_key) == ("0.0.0.0", False, expected)


def test_on_the_network_of_the_host_nothing_is_published() -> None:
    subject = read_subject({**SERVICE, "network": "host", "bind": "10.0.0.4"}, VERSION, "chat")
    assert subject.container is not None
    assert subject.container.publishes == ()
    assert (subject.words or ())[4:6] == ("--host", "10.0.0.4")


def test_the_words_are_those_of_the_release_that_is_asked_about() -> None:
    given = {**SERVICE, "config": {"allow-credentials": True, "enable-log-requests": False}}
    assert "--no-enable-log-requests" in (read_subject(given, VERSION, "chat").words or ())
    asked = read_subject({**given, "image": "vllm/vllm-openai:v0.33.0"}, VERSION, "chat")
    assert asked.words == read_subject(given, VERSION, "chat").words


def test_a_definition_may_say_its_name() -> None:
    assert read_subject({**SERVICE, "name": "mine"}, VERSION).name == "mine"


def test_all_services_of_an_inventory() -> None:
    inventory = {
        "vllm_services": {"a": SERVICE, "b": {**SERVICE, "port": 8002}},
        "vllm_defaults": {"gpus_shared": True},
    }
    assert [one.name for one in read_subjects(inventory, VERSION)] == ["a", "b"]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"model": "m"}, "image"),
        ({**SERVICE, "port": "eighty"}, "port"),
        ({**SERVICE, "colour": "red"}, "colour"),
        ({**SERVICE, "image": "vllm/vllm-openai:v0.9.2"}, "0.11.1 and newer"),
        ({**SERVICE, "exposed_without_key": "perhaps"}, "exposed_without_key"),
        ({"vllm_services": []}, "vllm_services"),
        ({"vllm_services": {"a": 5}}, "a"),
    ],
)
def test_a_definition_that_cannot_be_used_says_why(given: dict[str, Any], says: str) -> None:
    with pytest.raises(AuditError, match=says):
        read_subject(given, VERSION, "chat")
