# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Lines and scripts that start the server by itself, and texts that are nothing known."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.read import read_subject, read_subjects
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

VERSION = parse_version("0.32.0")


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve m --port 80",
        "/opt/vllm/bin/vllm serve m --port 80",
        "uv run vllm serve m --port 80",
        "uv run --with vllm -- vllm serve m --port 80",
        "sudo -u vllm -H vllm serve m --port 80",
        "exec numactl --cpunodebind 0 vllm serve m --port 80",
        "nohup vllm serve m --port 80 > log 2>&1 &",
        "source env/bin/activate && vllm serve m --port 80",
        "python -m vllm.entrypoints.openai.api_server m --port 80",
        "python3.12 -m vllm.entrypoints.cli.main serve m --port 80",
        "/usr/bin/python3 /usr/lib/vllm/entrypoints/openai/api_server.py m --port 80",
        "vllm serve 'm' \\\n  --port \\\n  80  # the port",
        "vllm serve m --port 80 | tee log",
        "bash -c 'vllm serve m --port 80'",
        "env -i bash -lc 'exec vllm serve m --port 80'",
    ],
)
def test_the_servers_own_words(line: str) -> None:
    subject = read_subject(line, VERSION)
    assert (subject.kind, subject.words) == ("serve", ("m", "--port", "80"))
    assert subject.raw_text == line
    assert (subject.container, subject.command, subject.unit, subject.problems) == (None, None, None, ())


@pytest.mark.parametrize(
    ("text", "env"),
    [
        ("vllm serve m", {}),
        ("A=1 B='x y' vllm serve m", {"A": "1", "B": "x y"}),
        ("env A=1 B=2 vllm serve m", {"A": "1", "B": "2"}),
        ("sudo A=1 vllm serve m", {"A": "1"}),
        ("export A=1 B=2\nC=3\nvllm serve m", {"A": "1", "B": "2", "C": "3"}),
        ("export A=1\nA=2 vllm serve m", {"A": "2"}),
        ("vllm serve m\nexport A=1", {}),
        ("A=1 other\nvllm serve m", {}),
        ("A=1 bash -c 'B=2 vllm serve m'", {"A": "1", "B": "2"}),
        ("vllm serve m --x A=1", {}),
    ],
)
def test_the_variables_that_it_sees(text: str, env: dict[str, str]) -> None:
    assert read_subject(text, VERSION).env == env


@pytest.mark.parametrize(
    ("line", "address"),
    [
        ("vllm serve m", "0.0.0.0"),
        ("vllm serve m --host 127.0.0.1", "127.0.0.1"),
        ("vllm serve m --host=::", "::"),
        ("vllm serve m --uds /run/vllm.sock", None),
        ("vllm serve m --headless", None),
    ],
)
def test_where_it_is_reached(line: str, address: str | None) -> None:
    assert read_subject(line, VERSION).host_bind == address


def test_two_servers_of_one_script() -> None:
    script = "CUDA_VISIBLE_DEVICES=0 vllm serve m &\nCUDA_VISIBLE_DEVICES=1 vllm serve n --port 8001 &\nwait\n"
    found = read_subjects(script, VERSION, "start.sh")
    assert [(one.name, one.words, one.env) for one in found] == [
        ("start.sh 1", ("m",), {"CUDA_VISIBLE_DEVICES": "0"}),
        ("start.sh 2", ("n", "--port", "8001"), {"CUDA_VISIBLE_DEVICES": "1"}),
    ]


def test_a_quote_that_is_not_closed_is_a_problem() -> None:
    subject = read_subject("vllm serve m --x '{", VERSION)
    assert (subject.words, [problem.where for problem in subject.problems]) == (("m", "--x", "{"), ["quotes"])


@pytest.mark.parametrize("given", ["", " \n", "hello", "vllm bench serve", "ls -l", "\x00", "%%%", "docker ps"])
def test_other_texts_are_refused(given: str) -> None:
    with pytest.raises(AuditError, match="expected"):
        read_subject(given, VERSION)


@pytest.mark.parametrize(("kind", "given"), [("serve", "ls"), ("nonsense", "vllm serve m"), ("map", "vllm serve m")])
def test_a_kind_that_does_not_fit_is_refused(kind: str, given: Any) -> None:
    with pytest.raises(AuditError, match="expected"):
        read_subject(given, VERSION, kind=kind)


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(read_subject("VLLM_API_KEY=hush vllm serve m --api-key hush", VERSION))


def test_rubbish_never_raises() -> None:
    chance = random.Random(13)
    for _round in range(300):
        text = "vllm serve " + "".join(chance.choices("a-='\"\\$(){}|&;\n >1é", k=chance.randint(0, 30)))
        assert read_subjects(text, VERSION)[0].kind == "serve"
