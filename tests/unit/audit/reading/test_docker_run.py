# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""docker run and podman run lines: every option that says something of the container, and what the server gets."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.read import read_subject, read_subjects
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import Container, Publish, Subject
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

VERSION = parse_version("0.32.0")
IMAGE = "vllm/vllm-openai:v0.32.0"


def run(options: str = "", command: str = "m", image: str = IMAGE) -> Subject:
    """The subject of one line."""
    return read_subject(f"docker run {options} {image} {command}", VERSION)


def container(subject: Subject) -> Container:
    """The container that there must be."""
    assert subject.container is not None
    return subject.container


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        ("--shm-size 16g", "shm_bytes", 16 << 30),
        ("--shm-size=512M", "shm_bytes", 512 << 20),
        ("--shm-size 67108864", "shm_bytes", 67108864),
        ("--shm-size 1.5gb", "shm_bytes", 3 << 29),
        ("--shm-size $SHM", "shm_bytes", 1 << 50),
        ("--ipc=host", "ipc", "host"),
        ("--ipc host --ipc private", "ipc", "private"),
        ("--network host", "network", "host"),
        ("--net=backend", "network", "backend"),
        ("-p 8000:8000", "publishes", (Publish("", "8000", "8000"),)),
        ("-p8000:8000/tcp", "publishes", (Publish("", "8000", "8000"),)),
        ("-p 8000", "publishes", (Publish("", "", "8000"),)),
        ("-p 127.0.0.1:80:8000", "publishes", (Publish("127.0.0.1", "80", "8000"),)),
        ("-p 127.0.0.1::8000", "publishes", (Publish("127.0.0.1", "", "8000"),)),
        ("-p [::1]:80:8000", "publishes", (Publish("::1", "80", "8000"),)),
        ("--publish=${PORT:-8000}:8000", "publishes", (Publish("", "${PORT:-8000}", "8000"),)),
        ("-p 80:80 -p 81:81", "publishes", (Publish("", "80", "80"), Publish("", "81", "81"))),
        ("-u 1000:1000", "user", "1000:1000"),
        ("--restart unless-stopped", "restart", "unless-stopped"),
        ("--rm", "remove", True),
        ("--rm=true", "remove", True),
        ("--rm=false", "remove", False),
        ("-m 64g", "memory_bytes", 64 << 30),
        ("--memory=1t", "memory_bytes", 1 << 40),
        ("--gpus all", "gpus", "all"),
        ("--gpus '\"device=0,1\"'", "gpus", '"device=0,1"'),
        ("--device nvidia.com/gpu=all", "gpus", "nvidia.com/gpu=all"),
        ("--device /dev/kfd", "gpus", None),
        (
            "-v /a:/b:ro --mount type=bind,src=/c,dst=/d --tmpfs /dev/shm",
            "mounts",
            ("/a:/b:ro", "type=bind,src=/c,dst=/d", "/dev/shm"),
        ),
        ("--env-file .env", "env_files", (".env",)),
        ("-e HF_TOKEN -e A=1", "secret_env", ("HF_TOKEN",)),
        ("--security-opt seccomp=unconfined", "security_opts", ("seccomp=unconfined",)),
        ("--ulimit memlock=-1", "ulimits", ("memlock=-1",)),
        ("--log-opt max-size=50m", "log_options", ("max-size=50m",)),
        ("--stop-timeout 120", "stop_seconds", 120.0),
        ("--stop-timeout -1", "stop_seconds", -1.0),
        ("--health-cmd 'curl -f x'", "has_healthcheck", True),
        ("--no-healthcheck", "has_healthcheck", False),
        ("--health-start-period 1m30s", "start_period_seconds", 90.0),
        ("--entrypoint bash", "entrypoint", ("bash",)),
        ('--entrypoint ""', "entrypoint", ()),
        ('--entrypoint \'["vllm", "serve"]\'', "entrypoint", ("vllm", "serve")),
        ("-itd --name x -w /a --cap-add SYS_ADMIN --privileged --init", "image", IMAGE),
        ("--pull always --replace --label a=b -h box", "image", IMAGE),
    ],
)
def test_each_option(options: str, field: str, value: object) -> None:
    subject = run(options)
    assert getattr(container(subject), field) == value
    assert container(subject).image == IMAGE
    assert subject.problems == ()


def test_nothing_is_said_of_what_is_not_there() -> None:
    plain = container(run())
    assert plain == Container("docker run", image=IMAGE)
    assert {field.name for field in fields(plain)} >= {"image", "shm_bytes"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"docker run {IMAGE} m --port 80", {"words": ("m", "--port", "80"), "command": ("m", "--port", "80")}),
        (f"docker run {IMAGE}", {"words": (), "command": ()}),
        (f"docker run {IMAGE} serve m", {"words": ("m",), "command": ("serve", "m")}),
        (f"docker run {IMAGE} vllm serve m", {"words": ("m",), "command": ("vllm", "serve", "m")}),
        (
            f"docker run {IMAGE} python3 -m vllm.entrypoints.openai.api_server --model m",
            {"words": ("--model", "m")},
        ),
        (f"docker run --entrypoint vllm {IMAGE} serve m", {"words": ("m",), "command": None}),
        (f"docker run --entrypoint python3 {IMAGE} -m vllm.entrypoints.openai.api_server --model m", {"command": None}),
        (f"docker run --entrypoint nvidia-smi {IMAGE}", {"words": None, "command": None}),
        (
            f"docker run --entrypoint bash {IMAGE} -c 'pip install x && A=1 vllm serve m --port 80'",
            {"words": ("m", "--port", "80"), "shell_text": ("pip install x && A=1 vllm serve m --port 80",)},
        ),
        (f"docker run --entrypoint bash {IMAGE} -c 'export A=1; exec vllm serve m'", {"env": {"A": "1"}}),
        (f"docker run -e A=1 -eB=2 --env C='x y' -e D {IMAGE} m", {"env": {"A": "1", "B": "2", "C": "x y"}}),
        (f"docker run -e VLLM_API_KEY {IMAGE} m", {"has_key": True, "env": {}}),
        (f"docker run {IMAGE} m", {"has_key": None, "name": "docker run"}),
        (f"sudo docker --context far container run --name chat {IMAGE} m", {"name": "chat", "words": ("m",)}),
        (f"podman run -d {IMAGE} m", {"kind": "docker run", "words": ("m",)}),
        (f"/usr/bin/docker run \\\n  --gpus all \\\n  {IMAGE} \\\n  m --port 80", {"words": ("m", "--port", "80")}),
        ("docker run $IMAGE m", {"words": ("m",)}),
    ],
)
def test_what_the_server_gets(line: str, expected: dict[str, Any]) -> None:
    subject = read_subject(line, VERSION)
    assert {name: getattr(subject, name) for name in expected} == expected
    assert subject.raw_text == line


@pytest.mark.parametrize(
    ("options", "command", "address"),
    [
        ("-p 8000:8000", "m", "0.0.0.0"),
        ("-p 127.0.0.1:8000:8000", "m", "127.0.0.1"),
        ("-p 10.0.0.4:80:9000", "m --port 9000", "10.0.0.4"),
        ("-p 127.0.0.1:80:9000 -p 9100:9100", "m --port 9000", "127.0.0.1"),
        ("--network host", "m", "0.0.0.0"),
        ("--network host", "m --host 127.0.0.1", "127.0.0.1"),
        ("-P", "m", "0.0.0.0"),
        ("", "m", None),
        ("-p 8000:8000", "m --uds /run/x", None),
        ("--network host", "m --headless", None),
    ],
)
def test_where_it_is_reached(options: str, command: str, address: str | None) -> None:
    assert run(options, command).host_bind == address


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ("--shm-size lots", "--shm-size"),
        ("--stop-timeout soon", "--stop-timeout"),
        ("--health-start-period 5x", "--health-start-period"),
        ("--shm-sise=1g", "--shm-sise"),
        ("-Z", "-Z"),
    ],
)
def test_what_cannot_be_read_is_a_problem(options: str, where: str) -> None:
    assert [problem.where for problem in run(options).problems] == [where]


def test_a_line_without_an_image_says_so() -> None:
    subject = read_subject("docker run --gpus all", VERSION)
    assert [problem.where for problem in subject.problems] == ["image"]
    assert (subject.words, subject.command) == (None, None)


def test_a_script_with_other_containers() -> None:
    script = f"#!/bin/sh\ndocker rm -f chat\ndocker run --name prom prom/prometheus\ndocker run --name chat {IMAGE} m\n"
    assert [subject.name for subject in read_subjects(script, VERSION)] == ["chat"]


def test_two_servers_are_two_subjects() -> None:
    script = f"docker run --name a {IMAGE} m\ndocker run --name b {IMAGE} n\n"
    assert [(one.name, one.words) for one in read_subjects(script, VERSION)] == [("a", ("m",)), ("b", ("n",))]
    with pytest.raises(AuditError, match=r"there are 2 servers \(a, b\)"):
        read_subject(script, VERSION)


def test_other_commands_of_docker_are_no_subject() -> None:
    with pytest.raises(AuditError, match="runs a container"):
        read_subject("docker exec -it chat run this", VERSION, kind="docker run")


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(run("-e VLLM_API_KEY=hush", "m --api-key hush"))


def test_rubbish_never_raises() -> None:
    chance = random.Random(11)
    parts = ["-e", "-p", "--shm-size", "--env", "-", "--", "=", "x=", ":", "1g", "'", '"', "\\", "$(", IMAGE, "-itx"]
    for _round in range(400):
        text = "docker run " + " ".join(chance.choices(parts, k=chance.randint(0, 9)))
        for subject in read_subjects(text, VERSION):
            assert subject.kind == "docker run"
