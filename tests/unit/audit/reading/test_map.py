# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Maps of parts: what is there is read, what is not stays unsaid, what cannot be read is a problem."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.read import read_subject
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import (
    Container,
    HostFacts,
    Publish,
    Subject,
    UnitFile,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

VERSION = parse_version("0.32.0")


def read(**parts: Any) -> Subject:
    """The map as a subject."""
    return read_subject(parts, VERSION, "chat")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"args": ["--port", 80]}, {"words": ("--port", "80")}),
        ({"args": "m --x '{\"a\": 1}' # no"}, {"words": ("m", "--x", '{"a": 1}')}),
        ({"args": []}, {"words": ()}),
        ({"args": ["a"], "from_args": ["b"]}, {"words": ("a",), "previous_words": ("b",)}),
        ({"from_args": []}, {"previous_words": ()}),
        ({"env": {"A": "1", "B": 2, "C": True, "D": None}}, {"env": {"A": "1", "B": "2", "C": "true"}}),
        ({"env": ["A=1", "B", "C=x=y"]}, {"env": {"A": "1", "C": "x=y"}}),
        ({"command": ["m", "--port", "80"]}, {"command": ("m", "--port", "80"), "words": ("m", "--port", "80")}),
        ({"command": ["serve", "m"]}, {"command": ("serve", "m"), "words": ("m",)}),
        ({"command": "vllm serve m"}, {"command": ("vllm", "serve", "m"), "words": ("m",)}),
        ({"command": ["m"], "args": ["n"]}, {"command": ("m",), "words": ("n",)}),
        ({"image": "x/y:v1"}, {"container": Container("map", image="x/y:v1")}),
        (
            {"host": {"driver": 580.65, "gpu": "L4", "compute_capability": 8.9, "gpu_memory": "24g", "gpu_count": 2}},
            {"host": HostFacts("580.65", "L4", "8.9", 24 << 30, 2)},
        ),
        ({"host": {}}, {"host": HostFacts()}),
        ({"host_bind": "0.0.0.0", "has_key": True}, {"host_bind": "0.0.0.0", "has_key": True}),
        (
            {"container": {"shm_size": "64m", "tensor_parallel_size": 2}},
            {"container": Container("map", shm_bytes=64 << 20, tensor_parallel_size=2)},
        ),
        ({"container": {"stop_timeout": 10}}, {"container": Container("map", stop_seconds=10.0)}),
        ({"container": {"stop_grace_period": "1m30s"}}, {"container": Container("map", stop_seconds=90.0)}),
        (
            {"container": {"ipc_mode": "host", "shm": "1g", "network_mode": "host", "mem_limit": "2g"}},
            {"container": Container("map", ipc="host", shm_bytes=1 << 30, network="host", memory_bytes=2 << 30)},
        ),
        (
            {
                "image": "i:1",
                "container": {"ipc": "host", "ports": ["80:8000"], "memory": 1024, "entrypoint": ["vllm"]},
            },
            {
                "container": Container(
                    "map",
                    image="i:1",
                    ipc="host",
                    publishes=(Publish("", "80", "8000"),),
                    memory_bytes=1024,
                    entrypoint=("vllm",),
                )
            },
        ),
        ({"unit": {"TimeoutStopSec": 30}}, {"unit": UnitFile((("", "TimeoutStopSec", "30"),))}),
        (
            {"unit": {"Service": {"Restart": "always", "ExecStop": ["a", "b"]}}},
            {
                "unit": UnitFile(
                    (("Service", "Restart", "always"), ("Service", "ExecStop", "a"), ("Service", "ExecStop", "b"))
                )
            },
        ),
        ({"alert_expr": "up > 0", "log_regex": "x"}, {"alert_expr": "up > 0", "log_regex": "x"}),
        ({"args": None, "image": "i:1"}, {"container": Container("map", image="i:1")}),
    ],
)
def test_what_is_there_is_read_and_no_more(parts: dict[str, Any], expected: dict[str, Any]) -> None:
    assert read(**parts) == Subject("map", "chat", **expected)


@pytest.mark.parametrize("order", [("image", "container"), ("container", "image")])
def test_the_image_stays_whichever_comes_first(order: tuple[str, str]) -> None:
    parts = {"image": "i:1", "container": {"ipc": "host"}}
    assert read(**{key: parts[key] for key in order}).container == Container("map", image="i:1", ipc="host")


@pytest.mark.parametrize(
    ("parts", "where", "expected"),
    [
        ({"args": 5}, "args", "a list of words, or one text"),
        ({"args": [["a"]]}, "args", "a list of words, or one text"),
        ({"args": "m 'x"}, "quotes", "' or \""),
        ({"env": "A=1"}, "env", "a map of names and values, or a list of NAME=VALUE"),
        ({"env": {"A": []}}, "env", "a map of names and values, or a list of NAME=VALUE"),
        ({"image": 3}, "image", "an image such as vllm/vllm-openai:v0.32.0"),
        ({"host": "L4"}, "host", "a map with any of driver, gpu, compute_capability, gpu_memory, gpu_memory_bytes, "),
        ({"host": {"cpu": 1}}, "host.cpu", "one of driver, gpu, "),
        ({"container": {"shm_size": "lots"}}, "container.shm_size", "a size such as 512m or 16g"),
        ({"container": {"tensor_parallel_size": "x"}}, "container.tensor_parallel_size", "a whole number"),
        ({"unit": "[Service]"}, "unit", "a map of keys of a systemd unit"),
        ({"alert_expr": []}, "alert_expr", "a text"),
        ({"has_key": "yes"}, "has_key", "true or false"),
        ({"args": [], "argz": 1}, "argz", "one of args, from_args, command, "),
    ],
)
def test_what_cannot_be_read_is_a_problem(parts: dict[str, Any], where: str, expected: str) -> None:
    (problem,) = read(**parts).problems
    assert problem.where == where
    assert (problem.expected or "").startswith(expected)
    assert problem.message


def test_the_name_is_the_maps_own_or_the_given_one() -> None:
    assert read_subject({"args": [], "name": "mine"}, VERSION).name == "mine"
    assert read_subject({"args": [], "name": "mine"}, VERSION, "given").name == "given"
    assert read_subject({"args": []}, VERSION).name == "subject"


@pytest.mark.parametrize("given", [{}, {"colour": "red"}, {1: 2}, 5, None, ["--port"], b"vllm serve m"])
def test_what_is_no_subject_at_all_is_refused(given: object) -> None:
    with pytest.raises(AuditError, match="expected"):
        read_subject(given, VERSION)


def test_secrets_are_not_shown() -> None:
    subject = read(args=["--api-key", "hush"], env={"K": "hush"}, command=["hush"], from_args=["hush"])
    assert "hush" not in repr(subject)


def test_the_content_of_the_configuration_file_comes_before_the_arguments_as_the_release_reads_it() -> None:
    given = {
        "args": ["org/m", "--config", "/etc/vllm.yaml", "--port", "2"],
        "config_file": {"port": 1, "lora-modules": []},
    }
    assert read_subject(given, parse_version("0.33.0")).words == ("org/m", "--port", "1", "--port", "2")
    file = {"enable-prefix-caching": False, "served-model-name": ["a", "b"]}
    assert read_subject({"config_file": file}, parse_version("0.27.1")).words == ("--served-model-name", "a", "b")
    assert read_subject({"config_file": file}, parse_version("0.28.0")).words == (
        "--no-enable-prefix-caching",
        "--served-model-name",
        "a",
        "b",
    )
    wrong = read_subject({"args": ["m"], "config_file": "port: 1"}, parse_version("0.33.0"))
    assert [problem.where for problem in wrong.problems] == ["config_file"]


def test_arguments_may_begin_with_the_command_itself() -> None:
    assert read_subject({"args": "vllm serve org/m --port 1"}, parse_version("0.33.0")).words == (
        "org/m",
        "--port",
        "1",
    )
