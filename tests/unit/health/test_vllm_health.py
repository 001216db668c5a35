# SPDX-License-Identifier: Apache-2.0
"""The contract of ``vllm-health``, against a server that fails on anything but GET."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import health


def call(*argv: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    out = io.StringIO()
    code = health.main(argv, env=env or {}, out=out)
    return code, out.getvalue()


def test_a_serving_server_passes_with_get_requests_only(running: Any) -> None:
    with running() as stub:
        code, text = call("--url", stub.url)
    assert code == 0
    assert {method for method, _path in stub.seen} == {"GET"}
    assert [path for _method, path in stub.seen] == ["/health", "/version", "/v1/models", "/load", "/metrics"]
    assert text.endswith("s\n") and "5 of 5 checks passed" in text


def test_json_carries_the_facts_and_the_verdict(running: Any) -> None:
    with running() as stub:
        code, text = call("--url", stub.url + "/", "--json")
    data = json.loads(text)
    assert (code, data["passed"], data["exit_code"]) == (0, True, 0)
    assert data["facts"]["version"] == "0.32.0+cpu"
    assert data["facts"]["models"] == ["m"]
    assert data["facts"]["metrics"]["prefix"] == "vllm:"
    assert (data["facts"]["metrics"]["running"], data["facts"]["metrics"]["waiting"]) == (2, 1)
    assert set(data["checks"]) == {"health", "version", "models", "load", "metrics"}


def test_only_the_checks_that_were_named_are_made_and_each_once(running: Any) -> None:
    with running() as stub:
        code, _text = call("--url", stub.url, "--check", "version", "--check", "health", "--check", "version")
    assert code == 0
    assert [path for _method, path in stub.seen] == ["/version", "/health"]


def test_findings_come_worst_first(running: Any) -> None:
    routes = {"/metrics": (200, b"# HELP vllm:a b\n"), "/health": (503, b"")}
    with running(routes) as stub:
        code, text = call("--url", stub.url)
    lines = text.splitlines()
    assert code == 1
    assert lines[0].startswith("ERROR engine_dead")
    assert lines[1].startswith("WARNING metrics_no_samples")
    assert lines[2].startswith("ok ")


@pytest.mark.parametrize(
    ("path", "answer", "finding"),
    [
        ("/version", (200, b"<html>nginx</html>"), "version_foreign"),
        ("/v1/models", (401, b'{"error":"Unauthorized"}'), "models_unauthorized"),
        ("/v1/models", (200, b'{"data":[]}'), "models_failed"),
        ("/load", (404, b'{"detail":"Not Found"}'), "load_failed"),
        ("/load", (200, b"true"), "load_foreign"),
        ("/metrics", (200, b"go_goroutines 7\n"), "metrics_foreign"),
        ("/health", (500, b"Internal Server Error"), "health_failed"),
    ],
)
def test_an_issue_is_named_and_ends_with_1(running: Any, path: str, answer: tuple[int, bytes], finding: str) -> None:
    with running({path: answer}) as stub:
        code, text = call("--url", stub.url, "--json")
    assert code == 1
    assert json.loads(text)["findings"][0]["id"] == finding


def test_no_server_is_a_fatal_error(running: Any) -> None:
    with running() as stub:
        url = stub.url
    code, text = call("--url", url)
    assert code == 1
    assert "connection refused" in text


@pytest.mark.parametrize(
    "argv",
    [
        ("--check", "completions"),
        ("--timeout", "0"),
        ("--timeout", "soon"),
        ("--url", "127.0.0.1:8000"),
        ("--url", "http://user:pw@127.0.0.1"),
        ("--url", "http://h:99999"),
        ("--no-such-option",),
        ("word",),
    ],
)
def test_wrong_usage_ends_with_2_and_asks_nobody(argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, text = call(*argv)
    assert (code, text) == (2, "")
    assert "usage: vllm-health" in capsys.readouterr().err


def test_help_needs_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    code, _text = call("--help")
    assert code == 0
    assert "124" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_the_limit_holds_for_the_whole_run(running: Any, kind: str) -> None:
    pace = {"hang": 30.0} if kind == "hang" else {"drip": 0.05}
    began = time.monotonic()
    with running({"/health": (200, b"x" * 4096)}, **pace) as stub:
        code, text = call("--url", stub.url, "--timeout", "0.6", "--json")
        seconds = time.monotonic() - began
    data = json.loads(text)
    assert code == 124
    assert seconds < 1.5
    assert data["timed_out"] and not any(data["checks"].values())


def test_json_stays_under_16_kib_whatever_the_server_says(running: Any) -> None:
    cards = [{"id": f"adapter-{number}-" + "n" * 3000} for number in range(900)]
    routes = {
        "/v1/models": (200, json.dumps({"data": cards}).encode()),
        "/version": (200, json.dumps({"version": "9" * 100000}).encode()),
        "/metrics": (200, b'vllm:num_requests_running{engine="' + b"e" * 60000 + b'"} 1\n'),
    }
    with running(routes) as stub:
        code, text = call("--url", stub.url, "--json")
    assert code == 0
    assert len(text.encode()) <= 16 * 1024
    assert json.loads(text)["passed"] is True


def test_a_body_without_an_end_is_not_read_to_the_end(running: Any) -> None:
    with running({"/version": (200, b"9" * (5 << 20))}) as stub:
        code, text = call("--url", stub.url, "--check", "version", "--json")
    assert code == 1
    assert "more than" in json.loads(text)["findings"][0]["message"]


def test_the_key_comes_from_the_environment_and_is_not_shown(running: Any) -> None:
    with running({"/v1/models": (401, b"{}")}) as stub:
        _code, text = call("--url", stub.url, "--json", env={"VLLM_API_KEY": "sk-planted-7"})
    assert stub.headers[2]["Authorization"] == "Bearer sk-planted-7"
    assert "sk-planted-7" not in text


def test_a_key_that_no_header_can_carry_is_not_shown_either(running: Any) -> None:
    with running() as stub:
        code, text = call("--url", stub.url, "--json", env={"VLLM_API_KEY": "sk-planted\nX: y"})
    assert code == 1
    assert "sk-planted" not in text


def test_a_proxy_of_the_environment_is_not_asked(running: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with running() as stub:
        assert call("--url", stub.url)[0] == 0


def test_it_writes_nothing(running: Any, tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3] / ".build" / "tree"
    code = (
        "import sys; from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.health import main;"
        "sys.exit(main(sys.argv[1:]))"
    )
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    with running() as stub:
        done = subprocess.run(
            [sys.executable, "-c", code, "--url", stub.url],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []
