# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Units as people write them: sections, continued lines, a server or a container in ExecStart."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.reading.unit import read_unit
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.reading.unit_text import is_unit_text, read_unit_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import Publish, Subject
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

NATIVE = """\
[Unit]
Description=chat
After=network-online.target
# StartLimitBurst=9
; StartLimitBurst=8

[Service]
Environment=HF_HOME=/srv/hf "VLLM_LOGGING_LEVEL=INFO" MODEL=org/m
Environment=HF_HOME=/srv/hf2
EnvironmentFile=-/etc/default/vllm
ExecStartPre=/bin/true one
ExecStartPre=/bin/true two
ExecStart=/opt/vllm/bin/vllm serve ${MODEL} \\
  # a comment between
  --port 9000 \\
  --host 127.0.0.1 $MORE
TimeoutStopSec=30
"""


def unit(text: str, version: str = "0.33.0") -> Subject:
    """Read a unit."""
    return read_unit(text, parse_version(version), "here")


def test_a_server_of_its_own() -> None:
    found = unit(NATIVE)
    assert (found.kind, found.name, found.problems) == ("unit", "here", ())
    assert found.words == ("org/m", "--port", "9000", "--host", "127.0.0.1", "$MORE")
    assert found.env == {"HF_HOME": "/srv/hf2", "VLLM_LOGGING_LEVEL": "INFO", "MODEL": "org/m"}
    assert (found.container, found.host_bind) == (None, "127.0.0.1")
    assert found.unit is not None
    assert found.unit.all("ExecStartPre") == ("/bin/true one", "/bin/true two")
    assert found.unit.last("TimeoutStopSec", "Service") == "30"
    assert found.unit.last("StartLimitBurst") is None


def test_a_container_in_exec_start() -> None:
    found = unit(
        "[Service]\nExecStartPre=-/usr/bin/docker rm -f x\n"
        "ExecStart=-/usr/bin/docker run --rm --name x -p 80:8000 \\\n  -e VLLM_USE_V1=0 vllm/vllm-openai:v0.11.2 m\n"
    )
    assert (found.kind, found.name, found.words) == ("unit", "here", ("m",))
    assert found.container is not None
    assert found.container.image == "vllm/vllm-openai:v0.11.2"
    assert found.container.publishes == (Publish("", "80", "8000"),)
    assert found.container.remove is True
    assert (found.env, found.host_bind) == ({"VLLM_USE_V1": "0"}, "0.0.0.0")


def test_a_shell_in_exec_start() -> None:
    text = "export A=1 && exec vllm serve m --port 1"
    found = unit(f"[Service]\nExecStart=/bin/bash -lc '{text}'\n")
    assert (found.words, found.env, found.shell_text) == (("m", "--port", "1"), {"A": "1"}, (text,))
    run = unit("[Service]\nExecStart=/bin/sh -c 'docker run -p 127.0.0.1:1:8000 vllm/vllm-openai:v0.30.0 m'\n")
    assert (run.words, run.host_bind) == (("m",), "127.0.0.1")
    assert run.container is not None


def test_a_drop_in_takes_back_what_the_unit_said() -> None:
    text = "[Service]\nExecStart=/bin/vllm serve a\nRestart=no\n[Service]\nExecStart=\nExecStart=/bin/vllm serve b\n"
    found = unit(text)
    assert found.words == ("b",)
    assert found.unit is not None
    assert found.unit.all("ExecStart") == ("/bin/vllm serve b",)


def test_what_starts_something_else_has_no_words() -> None:
    found = unit("[Service]\nExecStart=/usr/local/bin/start-it now\n")
    assert (found.words, found.container, found.host_bind) == (None, None, None)
    assert unit("[Unit]\nDescription=x\n").words is None


def test_lines_that_are_none_of_a_unit_are_named() -> None:
    read, problems = read_unit_text("Stray=1\n[Service]\nnonsense\nA=1\n=x\n")
    assert read.entries == (("Service", "A", "1"),)
    assert [problem.where for problem in problems] == ["line 1", "line 3", "line 5"]
    with pytest.raises(AuditError, match="no entry of a systemd unit"):
        unit("[Service]\n")


def test_a_unit_is_known_by_its_sections() -> None:
    assert is_unit_text(NATIVE)
    assert not is_unit_text("services:\n  a:\n    command: ['[Service]']\n")
    assert not is_unit_text("vllm serve m")


def test_no_value_is_printed() -> None:
    assert "do-not-show" not in repr(
        unit("[Service]\nEnvironment=VLLM_API_KEY=do-not-show\nExecStart=/bin/vllm serve m\n")
    )
