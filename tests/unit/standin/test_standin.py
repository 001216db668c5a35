# SPDX-License-Identifier: Apache-2.0
"""The stand-in engine is not nicer than the truth, and what reads an engine reads it."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.help import read_help
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import failing
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.evidence import Expected
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.verify import judge_verification
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.http import request
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.serving import check_health, gather_verification
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import StartupReport, parse_startup_log

VLLM = Path(__file__).resolve().parents[2] / "lab" / "standin" / "vllm"
READY = "Application startup complete."


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Engine:
    """One stand-in engine as a process, with its log in a file."""

    def __init__(self, log: Path, port: int, words: tuple[str, ...], env: dict[str, str]) -> None:
        self.log, self.port = log, port
        fast = {"STANDIN_START_SECONDS": "0.3", "STANDIN_WARM_SECONDS": "0.1", "STANDIN_STOP_SECONDS": "0.1"}
        asked = [*(words or ("some/model",)), "--port", str(port), "--host=127.0.0.1"]
        with log.open("wb") as stream:
            self.process = subprocess.Popen(
                [sys.executable, str(VLLM), "serve", *asked],
                env={"PATH": os.environ["PATH"], "STANDIN_DEATH_SECONDS": "0.2", **fast, **env},
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, text: str, seconds: float = 15.0) -> Engine:
        end = time.monotonic() + seconds
        while text not in self.said():
            assert time.monotonic() < end and self.process.poll() is None, self.said()
            time.sleep(0.02)
        return self

    def ended(self, seconds: float = 15.0) -> int:
        return self.process.wait(seconds)

    def report(self) -> StartupReport:
        return parse_startup_log(self.said().splitlines(keepends=True))

    def failures(self, **more: Any) -> list[str]:
        expected = Expected("chat", self.url, **{"version": "0.32.0", "served_names": ("chat",), **more})
        return [finding.id for finding in failing(judge_verification(expected, gather_verification(expected)))]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Any]:
    """Start stand-in engines; whatever still runs at the end is killed with its children."""
    made: list[Engine] = []

    def start(*words: str, port: int = 0, **env: str) -> Engine:
        made.append(Engine(tmp_path / f"{len(made)}.log", port or free_port(), words, env))
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
        one.process.wait()


SERVED = ("some/model", "--served-model-name", "chat")


def children(pid: int) -> list[int]:
    """The children that have a title of vLLM's."""
    found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]
    return [pid for pid in found if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"VLLM::")]


def test_it_says_what_it_is_and_serves(engine: Any) -> None:
    one = engine(*SERVED).wait_for(READY)
    assert "stand-in engine" in one.said().splitlines()[0]
    assert check_health(one.url, ["health", "version", "models", "load", "metrics"], timeout=5).exit_code == 0
    assert one.failures() == []


@pytest.mark.parametrize(("version", "lines"), [("0.27.1", 2), ("0.32.0", 1)])
def test_its_log_has_the_shape_of_the_release(engine: Any, version: str, lines: int) -> None:
    one = engine(*SERVED, STANDIN_VERSION=version).wait_for(READY)
    report = one.report()
    assert (report.vllm_version, report.kv_cache_tokens, report.startup_complete) == (version, (2097152,), True)
    assert report.max_concurrency == ((2048, 1024.0),)
    assert len(report.engine_init_seconds) == len(report.graph_capture) == len(report.weights_load_seconds) == 1
    assert report.first_error_line is None
    assert len(re.findall(r"(?m)^.*(?:KV cache size|Maximum concurrency).*$", one.said())) == lines
    prefixed = re.search(r"(?m)^\(APIServer pid=\d+\) INFO:     Application", one.said()) is not None
    assert prefixed is (version == "0.27.1")


def test_it_reads_options_as_vllm_does(engine: Any) -> None:
    one = engine(
        "some/model", "--served-model-name", "chat", "also", "--max-model-len=4k", "--no-enable-prefix-caching",
        "-tp", "2", "--compilation-config", '{"mode": 0}', "--gpu-memory-utilization", "0.5",
        "--speculative-config.method", "ngram", "--api-key", "sk-planted", "--seed", "0",
    ).wait_for(READY)  # fmt: skip
    arguments = one.report().non_default_args
    assert arguments is not None
    arguments.pop("port")
    assert arguments == {
        "model_tag": "some/model",
        "served_model_name": ["chat", "also"],
        "max_model_len": 4000,
        "enable_prefix_caching": False,
        "tensor_parallel_size": 2,
        "compilation_config": {"mode": 0},
        "gpu_memory_utilization": 0.5,
        "speculative_config": {"method": "ngram"},
        "api_key": "***",
        "host": "127.0.0.1",
        "model": "some/model",
    }
    assert "sk-planted" not in one.said()
    assert request(one.url + "/v1/models").status == 401
    assert request(one.url + "/v1/models", headers={"Authorization": "Bearer sk-planted"}).status == 200
    assert request(one.url + "/metrics").status == 200


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("m", "--no-such-option", "1"), "unrecognized arguments: --no-such-option 1"),
        (("m", "--seed", "x"), "invalid int value: 'x'"),
        (("m", "--compilation-config", "{"), "cannot be converted"),
        (("m", "--enforce-eager=true"), "ignored explicit argument 'true'"),
        (("m", "--dtype", "--enforce-eager"), "expected one argument"),
    ],
)
def test_a_wrong_option_ends_with_2(engine: Any, words: tuple[str, ...], says: str) -> None:
    one = engine(*words)
    assert one.ended() == 2
    assert says in one.said()


def ask(one: Engine, path: str, body: bytes | None = None, method: str = "POST") -> tuple[int, dict[str, Any]]:
    """The status and the body of an answer."""
    with socket.create_connection(("127.0.0.1", one.port), timeout=10) as connection:
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body or b'')}\r\n\r\n"
        connection.sendall(head.encode() + (body or b""))
        said = b"".join(iter(lambda: connection.recv(1 << 16), b"")).decode()
    head, _blank, text = said.partition("\r\n\r\n")
    return int(head.split()[1]), json.loads(text or "{}")


# What vLLM 0.32.0 answered: the request, the status, and the type, the parameter and the code of the error.
REFUSALS = (
    (b"", 400, ("Bad Request", "body", 400)),
    (b"[1]", 400, ("Bad Request", "body", 400)),
    (b"{", 400, ("Bad Request", "body.1", 400)),
    (b"{}", 400, ("BadRequestError", "prompt", 400)),
    (b'{"model": "x", "prompt": "a"}', 404, ("NotFoundError", "model", 404)),
    (b'{"model": "chat", "prompt": "a", "max_tokens": "x"}', 400, ("Bad Request", "body.max_tokens", 400)),
    (b'{"model": "chat", "prompt": "a", "max_tokens": 99999}', 400, ("BadRequestError", "max_tokens", 400)),
    (b'{"model": "chat", "prompt": "a", "temperature": -1}', 400, ("BadRequestError", "temperature", 400)),
)


def test_it_refuses_as_vllm_refuses(engine: Any) -> None:
    one = engine(*SERVED).wait_for(READY)
    for body, status, about in REFUSALS:
        answer = ask(one, "/v1/completions", body)
        error = answer[1]["error"]
        assert (answer[0], (error["type"], error["param"], error["code"])) == (status, about), body
    assert ask(one, "/v1/completions", method="GET") == (405, {"detail": "Method Not Allowed"})
    assert ask(one, "/v1/models/chat", method="GET") == (404, {"detail": "Not Found"})
    assert ask(one, "/health/", method="GET") == (307, {})
    assert ask(one, "/tokenize", b'{"prompt": "a b"}')[1].keys() == {"count", "max_model_len", "tokens", "token_strs"}


def test_the_cpu_build_has_a_worker_and_an_eager_start_compiles_nothing(engine: Any) -> None:
    one = engine(*SERVED, "--enforce-eager", STANDIN_DEVICE="cpu").wait_for(READY)
    (core,) = children(one.process.pid)
    (worker,) = children(core)
    assert Path(f"/proc/{worker}/cmdline").read_bytes().rstrip(b"\0") == b"VLLM::Worker"
    assert "(Worker pid=" in one.said() and "torch.compile" not in one.said()
    os.kill(worker, signal.SIGKILL)
    assert one.ended() == 0
    assert "Worker proc VllmWorker-0 died unexpectedly" in (one.report().first_error_line or "")


def test_a_worker_that_dies_while_it_loads_fails_the_start(engine: Any) -> None:
    env = {"STANDIN_DEVICE": "cpu", "STANDIN_NEVER_READY": "1"}
    one = engine(*SERVED, **env).wait_for("Starting to load model")
    os.kill(children(children(one.process.pid)[0])[0], signal.SIGKILL)
    assert one.ended() == 1
    assert "WorkerProc initialization failed" in (one.report().first_error_line or "")


def test_a_request_to_a_dead_engine_ends_the_server_at_once(engine: Any) -> None:
    one = engine(*SERVED, STANDIN_DEATH_SECONDS="60").wait_for(READY)
    os.kill(children(one.process.pid)[0], signal.SIGKILL)
    one.wait_for("EngineDeadError")
    assert ask(one, "/health", method="GET")[0] == 503
    assert ask(one, "/v1/completions", b"{}")[0] == 500
    assert one.ended() == 0


def test_sigterm_is_lost_while_it_loads_and_ends_it_when_ready(engine: Any) -> None:
    one = engine(*SERVED, STANDIN_START_SECONDS="1.2").wait_for("Starting to load model")
    one.process.send_signal(signal.SIGTERM)
    one.wait_for(READY)
    time.sleep(0.4)
    assert one.process.poll() is None
    one.process.send_signal(signal.SIGTERM)
    assert one.ended() == 0
    assert "Application shutdown complete." in one.said()


def test_the_port_is_closed_during_the_load(engine: Any) -> None:
    one = engine(*SERVED, STANDIN_NEVER_READY="1", STANDIN_PROGRESS="0").wait_for("Starting to load model")
    assert request(one.url + "/health").error == "connection refused"


def test_a_taken_port_ends_it_with_the_real_words(engine: Any) -> None:
    first = engine(*SERVED).wait_for(READY)
    argv = [sys.executable, VLLM, "serve", "m", "--port", str(first.port), "--host", "127.0.0.1"]
    second = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=15)
    assert second.returncode == 1
    assert "OSError: [Errno 98] Address already in use" in second.stderr


@pytest.mark.parametrize("stage", ["config", "load", "serve"])
def test_it_ends_at_a_stage_with_an_error(engine: Any, stage: str) -> None:
    one = engine(*SERVED, STANDIN_EXIT_AT=stage, STANDIN_ERROR="ValueError: planted", STANDIN_EXIT_CODE="7")
    assert one.ended() == 7
    assert (one.report().first_error_line or "").endswith("ValueError: planted")
    assert not one.report().startup_complete


@pytest.mark.parametrize("at", ["load", "serving"])
def test_it_is_as_noisy_as_it_is_told(engine: Any, at: str) -> None:
    noise = {"STANDIN_NOISE": "300", "STANDIN_NOISE_SECONDS": "0.5", "STANDIN_NOISE_WIDTH": "7", "STANDIN_NOISE_AT": at}
    one = engine(*SERVED, **noise).wait_for("noise 300 of 300 .......")
    numbers = re.findall(r"noise (\d+) of 300 \.{7}\n", one.said())
    assert numbers == [str(number) for number in range(1, 301)]
    one.wait_for(READY)
    assert (one.said().index("noise 1 of") > one.said().index(READY)) == (at == "serving")


def test_the_engine_process_that_is_killed_ends_the_server(engine: Any) -> None:
    loading = engine(*SERVED, STANDIN_NEVER_READY="1").wait_for("Starting to load model")
    os.kill(children(loading.process.pid)[0], signal.SIGKILL)
    assert loading.ended() == 1
    ready = engine(*SERVED).wait_for(READY)
    (pid,) = children(ready.process.pid)
    assert Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0") == b"VLLM::EngineCore"
    assert Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") == "VLLM::EngineCor\n"
    os.kill(pid, signal.SIGKILL)
    assert ready.ended() == 0


def test_a_worker_that_is_killed_ends_the_server(engine: Any) -> None:
    one = engine(*SERVED, "--tensor-parallel-size", "2").wait_for(READY)
    (core,) = children(one.process.pid)
    workers = children(core)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    assert one.ended() == 0


def test_a_crash_after_ready_has_status_0(engine: Any) -> None:
    assert engine(*SERVED, STANDIN_CRASH_AFTER="0.1").ended() == 0


@pytest.mark.parametrize(
    ("env", "failures"),
    [
        ({"STANDIN_POST": "fail"}, ["claim_generates"]),
        ({"STANDIN_POST": "garbage"}, ["claim_generates"]),
        ({"STANDIN_POST": "drop"}, ["claim_generates"]),
        ({"STANDIN_POST": "empty"}, ["claim_generates"]),
        ({"STANDIN_POST": "unfinished"}, ["claim_generates"]),
        ({"STANDIN_POST": "once503"}, []),
        ({"STANDIN_NO_COMPLETIONS": "1"}, []),
        ({"STANDIN_MODEL_NAME": "other"}, ["claim_right_model"]),
        ({"STANDIN_BUILD": "0.31.0"}, ["claim_right_build"]),
        ({"STANDIN_HEALTH": "503"}, ["claim_alive", "claim_generates"]),
    ],
)
def test_each_fault_breaks_its_claim(engine: Any, env: dict[str, str], failures: list[str]) -> None:
    assert engine(*SERVED, **env).wait_for(READY).failures() == failures


def test_a_pooling_model_embeds(engine: Any) -> None:
    one = engine(*SERVED, "--runner", "pooling").wait_for(READY)
    assert one.failures(runner="pooling") == []
    assert one.failures() == ["claim_generates"]


def test_a_second_start_finds_its_compile_cache(engine: Any, tmp_path: Path) -> None:
    env = {"VLLM_CACHE_ROOT": str(tmp_path / "cache"), "STANDIN_START_SECONDS": "1.5"}
    cold = engine(*SERVED, **env).wait_for(READY)
    os.killpg(cold.process.pid, signal.SIGKILL)
    cold.process.wait()
    warm = engine(*SERVED, port=cold.port, **env).wait_for(READY)
    assert "Directly load the compiled graph(s) from the cache" in warm.said()
    took = [one.report().engine_init_seconds[0][0] for one in (cold, warm)]
    assert took[1] < 0.6 * took[0]


@pytest.mark.parametrize(
    ("version", "leaks"), [("0.11.2", False), ("0.12.0", True), ("0.28.0", True), ("0.29.0", False)]
)
def test_a_key_gets_into_the_compile_cache_of_the_releases_that_put_it_there(
    engine: Any, tmp_path: Path, version: str, leaks: bool
) -> None:
    debug = {"STANDIN_VERSION": version, "VLLM_API_KEY": "planted-key", "VLLM_LOGGING_LEVEL": "DEBUG"}
    one = engine(*SERVED, VLLM_CACHE_ROOT=str(tmp_path / "cache"), **debug).wait_for(READY)
    kept = [path for path in (tmp_path / "cache").rglob("*") if path.is_file() and "planted-key" in path.read_text()]
    assert [path.name for path in kept] == (["cache_key_factors.json"] if leaks else [])
    assert ("planted-key" in one.said()) is leaks


def test_it_prints_what_it_is_told_to_print(engine: Any) -> None:
    said = engine(*SERVED, STANDIN_PRINTS="LAB_ODD", LAB_ODD="a 'b' ä").wait_for(READY).said()
    assert all(text in said for text in ("LAB_ODD=a 'b' ä", "a 'b' \\u00e4", "a%20%27b%27%20%C3%A4", "YSAnYicgw6Q="))


@pytest.mark.parametrize(("version", "count", "has"), [("0.31.0", 312, False), ("0.32.0", 317, True)])
def test_its_help_lists_what_it_takes_in_the_layout_of_the_real_one(version: str, count: int, has: bool) -> None:
    def serve(*words: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": os.environ["PATH"], "STANDIN_VERSION": version}
        return subprocess.run(
            [sys.executable, str(VLLM), "serve", *words],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=15,
        )

    said = serve("--help=all")
    listed = read_help(said.stdout)
    assert (said.returncode, said.stderr, len(listed.options)) == (0, "", count)
    assert (listed.find("--grpc-port") is not None) is has
    refused = "--no-such" if has else "--grpc-port 1 --no-such"
    assert serve("m", "--grpc-port", "1", "--no-such").stderr.endswith(f"unrecognized arguments: {refused}\n")
    assert listed.find("-tp").name == "--tensor-parallel-size"
    assert listed.find("--api-key").takes_many
    assert listed.find("--no-enable-lora").negatable
    assert listed.find("--headless").names == ("--headless",)
    assert (listed.find("--port").default, listed.find("--port").metavar) == ("8000", "PORT")
    assert "unrecognized arguments: --no-headless" in serve("m", "--no-headless").stderr


def test_so_many_starts_fail_and_then_one_works(engine: Any, tmp_path: Path) -> None:
    env = {"VLLM_CACHE_ROOT": str(tmp_path / "c"), "STANDIN_EXIT_AT": "config", "STANDIN_FAIL_STARTS": "1"}
    assert engine(*SERVED, **env).ended() == 1
    engine(*SERVED, **env).wait_for(READY)


def test_a_running_request_is_waited_for_with_a_shutdown_timeout(engine: Any) -> None:
    one = engine(*SERVED, "--shutdown-timeout", "5", STANDIN_TOKEN_SECONDS="0.1").wait_for(READY)
    body = b'{"model": "chat", "prompt": "x", "max_tokens": 8}'
    timer = threading.Timer(0.2, one.process.send_signal, [signal.SIGTERM])
    timer.start()
    answer = request(one.url + "/v1/completions", method="POST", body=body, timeout=5)
    assert answer.status == 200
    assert one.ended() == 0
