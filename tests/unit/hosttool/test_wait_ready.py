# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The gate, against a small server and a main process that can be killed."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.process import MainProcess
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.wait_ready import Watch
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text

STAGE = "(EngineCore pid=9) INFO 11-30 12:00:00 [core.py:1] Initializing a V1 LLM engine (v0.32.0) with config: x\n"
ERROR = "(EngineCore pid=9) ERROR 11-30 12:00:01 [core.py:2] ValueError: planted-token does not fit\n"


class Engine(BaseHTTPRequestHandler):
    """Serves when its server says so."""

    def do_GET(self):
        server = self.server
        server.keys.append(self.headers.get("Authorization"))
        if self.path == "/health":
            self.answer(server.health, b"")
        else:
            self.answer(200, json.dumps({"object": "list", "data": [{"id": server.model}]}).encode())

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


@pytest.fixture
def engine():
    with ThreadingHTTPServer(("127.0.0.1", 0), Engine) as server:
        server.health, server.model, server.keys = 503, "chat", []
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def main_process():
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


@pytest.fixture
def gate(paths, record, engine, docker, main_process, secrets, tmp_path):  # noqa: PLR0917 - fixtures
    """Begin a watch in a thread; gives the watch, what it returned, and what systemd heard."""

    class Gate:
        def __init__(self):
            self.code = None
            self.seconds = None
            self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self.manager.bind(str(tmp_path / "notify"))
            self.manager.setblocking(False)

        def begin(self, **limits):
            told = {"url": f"http://127.0.0.1:{engine.server_port}", "served_names": ["chat"], **limits}
            (paths.release(record.id) / "gate.json").write_text(gate_text(told, {}))
            seq = starts.begin(paths, {"begun_monotonic": time.monotonic(), "invocation_id": "i1"})
            docker.make("c1", STAGE)
            paths.cid.write_text("c1")
            self.watch = Watch(paths, seq, environ={"MAINPID": str(main_process.pid)})
            self.thread = threading.Thread(target=self._run, daemon=True)
            self.thread.start()

        def _run(self):
            self.code = self.watch.run()

        def ends(self, seconds):
            began = time.monotonic()
            self.thread.join(seconds)
            assert not self.thread.is_alive(), "the gate did not end in time"
            self.seconds = time.monotonic() - began
            return self.code

        def heard(self):
            said = []
            while True:
                try:
                    said.append(self.manager.recv(4000).decode())
                except BlockingIOError:
                    return said

    made = Gate()
    yield made
    made.watch.cancel(15, None)
    made.thread.join(10)
    made.manager.close()


@pytest.fixture(autouse=True)
def manager(tmp_path, monkeypatch):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))


def until(condition, seconds=5.0):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen"
        time.sleep(0.02)


def test_ready_is_health_and_the_served_name(paths, gate, engine, docker):
    engine.model = "other"
    engine.health = 200
    gate.begin()
    until(lambda: len(engine.keys) >= 4)
    assert gate.code is None
    engine.model = "chat"
    assert gate.ends(5) == 0
    state = starts.read(paths, 1)
    assert state["ready"] and state["container_id"] == "c1" and state["ready_seconds"] > 0
    assert (paths.start(1) / "startup.json").exists()
    assert docker.asked("stop") == []


def test_the_key_of_the_service_is_used(paths, gate, engine):
    paths.secrets.write_text("VLLM_API_KEY='planted-key'\n")
    engine.health = 200
    gate.begin()
    assert gate.ends(5) == 0
    assert "Bearer planted-key" in engine.keys


def test_a_dead_engine_is_a_verdict_within_a_second_with_its_first_error(paths, gate, docker, main_process, capsys):
    gate.begin()
    until(lambda: starts.read(paths, 1).get("container_id"))
    docker.says("c1", ERROR + "RuntimeError: Engine core initialization failed. See root cause above.\n")
    docker.ends("c1", 1)
    main_process.kill()
    assert gate.ends(5) == 1
    assert gate.seconds < 1.0
    state = starts.read(paths, 1)
    assert state["verdict"] == "dead" and "ValueError: [secret HF_TOKEN] does not fit" in state["reason"]
    assert "planted-token" not in capsys.readouterr().err
    assert docker.asked("stop") == []


def test_an_engine_that_died_without_a_word_is_told_by_its_exit_code(paths, gate, docker, main_process):
    gate.begin()
    until(lambda: starts.read(paths, 1).get("container_id"))
    docker.ends("c1", 137)
    main_process.kill()
    assert gate.ends(5) == 1
    assert "exit code 137, no error in its log" in starts.read(paths, 1)["reason"]


def test_silence_ends_a_start_and_kills_its_engine(paths, gate, docker):
    gate.begin(silence_seconds=1)
    assert gate.ends(6) == 1
    reason = starts.read(paths, 1)["reason"]
    assert reason.startswith("no progress for 1 s at the stage 'starting the engine'")
    assert reason.endswith(" s after the start")  # and nothing about an ending: it was alive
    assert docker.asked("stop") == ["stop -t 5 c1"]


def test_progress_keeps_a_start_alive_until_its_deadline(paths, gate, docker):
    gate.begin(silence_seconds=1, deadline_seconds=3)
    for part in range(1, 30):
        if gate.code is not None:
            break
        docker.says("c1", f"Loading safetensors checkpoint shards:  {part}% Completed | {part}/100 [00:01<00:09]\r")
        time.sleep(0.2)
    assert gate.ends(6) == 1
    assert "not ready within the hard deadline of 3 s" in starts.read(paths, 1)["reason"]


def test_somebody_stops_the_unit_in_mid_gate(paths, gate, docker):
    gate.begin()
    until(lambda: starts.read(paths, 1).get("container_id"))
    gate.watch.cancel(15, None)
    assert gate.ends(5) == 1
    assert starts.read(paths, 1)["verdict"] == "cancelled"
    assert docker.asked("stop") == ["stop -t 5 c1"]


def test_systemd_hears_the_stage_and_gives_more_time(paths, gate):
    paths.open_run.write_text("r1\n")
    gate.begin()
    until(paths.progress.exists)
    heard = []
    until(lambda: heard.extend(gate.heard()) or any("starting the engine" in said for said in heard))
    assert any(said.startswith("STATUS=") and "EXTEND_TIMEOUT_USEC=" in said for said in heard)
    assert "starting: starting the engine" in paths.progress.read_text()


def test_a_main_process_is_known_by_when_it_began(tmp_path, main_process):
    assert MainProcess(str(main_process.pid)).lives()
    for nobody in (None, "", "0", "x"):
        assert not MainProcess(nobody).lives()
    stat = tmp_path / "7" / "stat"
    stat.parent.mkdir()
    fields = "S " + " ".join(["1"] * 18) + " 1000 0"
    stat.write_text(f"7 (a) b) {fields}")
    process = MainProcess("7", str(tmp_path))
    assert process.lives()
    stat.write_text(f"7 (other) {fields.replace('1000', '2000')}")
    assert not process.lives()
    stat.write_text(f"7 (a) b) {fields.replace('S', 'Z')}")
    assert not process.lives()
