# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Compose files: every key that says something of the container, in its short and its long form."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.reading.compose import (
    is_compose,
    read_compose,
    text_of_service,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import Publish, Subject
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

VERSION = parse_version("0.32.0")
IMAGE = "vllm/vllm-openai:v0.32.0"


def service(keys: str) -> Subject:
    """The subject of one service with these keys, in flow style."""
    text = f"services: {{chat: {{image: '{IMAGE}', {keys}}}}}"
    return read_compose(yaml.safe_load(text), text, VERSION)[0]


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ("shm_size: 16gb", "shm_bytes", 16 << 30),
        ("shm_size: 1024", "shm_bytes", 1024),
        ("shm_size: '${SHM}'", "shm_bytes", 1 << 50),
        ("shm_size: '${SHM:-2g}'", "shm_bytes", 2 << 30),
        ("ipc: host", "ipc", "host"),
        ("network_mode: host", "network", "host"),
        ("ports: ['8000:8000']", "publishes", (Publish("", "8000", "8000"),)),
        ("ports: [8000]", "publishes", (Publish("", "", "8000"),)),
        ("ports: ['127.0.0.1:80:8000/tcp']", "publishes", (Publish("127.0.0.1", "80", "8000"),)),
        ("ports: [{target: 8000, published: 80, host_ip: '::1'}]", "publishes", (Publish("::1", "80", "8000"),)),
        ("mem_limit: 64g", "memory_bytes", 64 << 30),
        ("deploy: {resources: {limits: {memory: 1g}}}", "memory_bytes", 1 << 30),
        ("gpus: all", "gpus", "all"),
        ("deploy: {resources: {reservations: {devices: [{count: 2}]}}}", "gpus", "2"),
        ("deploy: {resources: {reservations: {devices: [{device_ids: ['0', '3']}]}}}", "gpus", "device=0,3"),
        ("runtime: nvidia", "gpus", "all"),
        ("restart: unless-stopped", "restart", "unless-stopped"),
        ("restart: no", "restart", "no"),
        ("deploy: {restart_policy: {condition: on-failure}}", "restart", "on-failure"),
        ("deploy: {restart_policy: {delay: 5s}}", "restart", "always"),
        ("deploy: {restart_policy: {condition: none}}", "restart", "no"),
        ("user: 1000", "user", "1000"),
        ("env_file: .env", "env_files", (".env",)),
        ("env_file: [{path: a.env, required: false}, b.env]", "env_files", ("a.env", "b.env")),
        ("environment: [VLLM_API_KEY, A=b]", "secret_env", ("VLLM_API_KEY",)),
        ("security_opt: ['label=disable']", "security_opts", ("label=disable",)),
        ("ulimits: {memlock: -1, nofile: {soft: 1, hard: 2}}", "ulimits", ("memlock=-1", "nofile=1:2")),
        ("logging: {driver: local, options: {max-size: 50m}}", "log_options", ("max-size=50m",)),
        ("volumes: ['/srv/hf:/hf:ro']", "mounts", ("/srv/hf:/hf:ro",)),
        ("volumes: [{type: bind, source: /a, target: /b}]", "mounts", ("type=bind,source=/a,target=/b",)),
        ("stop_grace_period: 1m30s", "stop_seconds", 90.0),
        ("healthcheck: {test: [CMD, a], start_period: 30m}", "start_period_seconds", 1800.0),
        ("healthcheck: {test: [CMD, a]}", "has_healthcheck", True),
        ("healthcheck: {disable: true}", "has_healthcheck", False),
        ("healthcheck: {test: [NONE]}", "has_healthcheck", False),
        ("container_name: x", "has_healthcheck", None),
        ("entrypoint: []", "entrypoint", ()),
        ("entrypoint: vllm serve", "entrypoint", ("vllm", "serve")),
    ],
)
def test_a_key_says_this_of_the_container(keys: str, field: str, value: object) -> None:
    found = service(keys)
    assert getattr(found.container, field) == value
    assert found.problems == ()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("command: m --port 9000", ("m", "--port", "9000")),
        ("command: [m, --port, 9000]", ("m", "--port", "9000")),
        ('command: "--model m --x \\"a b\\""', ("--model", "m", "--x", "a b")),
        ("command: '${MODEL:-org/m} --port $${P}'", ("org/m", "--port", "${P}")),
        ("entrypoint: [bash, -c], command: ['exec vllm serve m --port 1']", ("m", "--port", "1")),
        ("entrypoint: [vllm, serve], command: m", ("m",)),
        ("entrypoint: sleep, command: infinity", None),
    ],
)
def test_the_words_that_the_server_gets(keys: str, words: tuple[str, ...] | None) -> None:
    assert service(keys).words == words


def test_only_services_that_run_vllm_are_read_and_each_has_its_own_text() -> None:
    text = (
        "version: '3.8'\nservices:\n  web:\n    image: nginx\n"
        f"  a:\n    image: {IMAGE}\n    command: m\n\n  b:\n    image: own\n    command: vllm serve n\nvolumes: {{}}\n"
    )
    found = read_compose(yaml.safe_load(text), text, VERSION)
    assert [(one.name, one.compose_version_key) for one in found] == [("a", "3.8"), ("b", "3.8")]
    assert (
        found[0].raw_text is not None and "vllm serve n" not in found[0].raw_text and "command: m" in found[0].raw_text
    )
    assert text_of_service(text, "b") == "  b:\n    image: own\n    command: vllm serve n"
    assert [one.name for one in read_compose(yaml.safe_load(text), text, VERSION, "x")] == ["x a", "x b"]


@pytest.mark.parametrize(
    ("keys", "address"),
    [
        ("command: m, ports: ['8000:8000']", "0.0.0.0"),
        ("command: m, ports: ['127.0.0.1:8000:8000']", "127.0.0.1"),
        ("command: m", None),
        ("command: m --host 10.0.0.5, network_mode: host", "10.0.0.5"),
    ],
)
def test_where_the_server_is_reached(keys: str, address: str | None) -> None:
    assert service(keys).host_bind == address


@pytest.mark.parametrize(
    "keys", ["shm_size: big", "stop_grace_period: soon", "command: {a: b}", "environment: 3", "ports: [{a: 1}]"]
)
def test_what_cannot_be_read_is_a_problem(keys: str) -> None:
    assert len(service(keys).problems) == 1


@pytest.mark.parametrize("given", [{}, {"services": []}, {"services": {"web": {"image": "nginx"}}}])
def test_a_file_without_vllm_is_no_subject(given: dict[str, Any]) -> None:
    with pytest.raises(AuditError):
        read_compose(given, None, VERSION)


def test_a_compose_file_is_known_by_its_services() -> None:
    assert is_compose({"services": {"a": {"image": "x"}}})
    assert not is_compose({"services": {"a": {"model": "x"}}})
    assert not is_compose({"services": 3})


def test_a_secret_is_not_shown() -> None:
    assert "s3cret" not in repr(service("environment: {VLLM_API_KEY: s3cret}, command: m --api-key s3cret"))
