# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A drain waits for the last request but not for ever, tells how it goes, and is undone when it fails."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.draining.drain import drain
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.draining.none import NoDrain
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.steps import Context, StepFailed
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry


class FastClock(Clock):
    passed = 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += seconds


class Balancer:
    """An adapter that notes what it was asked."""

    def __init__(self, busy, fails=False):
        self.left, self.fails, self.asked = busy, fails, []

    def begin(self, _context):
        self.asked.append("begin")
        if self.fails:
            raise RuntimeError("no balancer")

    def busy(self, _context):
        return self.left.pop(0) if len(self.left) > 1 else self.left[0]

    def undo(self, _context):
        self.asked.append("undo")


@pytest.fixture
def context(paths, record):
    opened = Entry("t", "r1", "change", "staged", DONE, record.id)
    return Context(paths, opened, (opened,), clock=FastClock())


def test_it_waits_for_the_last_request(context):
    balancer = Balancer([2, 1, 0])
    outcome = drain(context, balancer)
    assert (outcome.message, outcome.data) == ("no request is under way", {"waited": 2.0})
    assert balancer.asked == ["begin"]


def test_it_does_not_wait_longer_than_its_cap_and_says_how_it_goes(context, paths):
    outcome = drain(context, Balancer([3]))
    assert outcome.message == "3 requests are still under way after the cap of 120 s"
    assert outcome.data == {"waited": 120.0, "cut": 3}
    said = paths.progress.read_text().splitlines()
    assert len(said) == 7
    assert said[0].endswith("draining: 3 requests are still under way after 15 s of 120 s")


def test_nobody_who_answers_is_not_waited_for(context):
    assert "nothing answers" in drain(context, Balancer([None])).message


def test_a_drain_that_fails_is_undone(context):
    balancer = Balancer([0], fails=True)
    with pytest.raises(RuntimeError, match="no balancer"):
        drain(context, balancer)
    assert balancer.asked == ["begin", "undo"]


def test_a_run_that_is_called_back_waits_for_nobody(context, paths):
    paths.called_back.write_text("called back by ada: garbage\n")
    balancer = Balancer([3])
    with pytest.raises(StepFailed, match="called back by ada: garbage"):
        drain(context, balancer)
    assert balancer.asked == ["begin", "undo"]


def test_without_a_balancer_the_engine_counts(context, paths, record):
    class Metrics(BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'vllm:num_requests_running{engine="0"} 2.0\nvllm:num_requests_waiting{engine="0"} 5.0\n'
            self.send_response(200 if self.path == "/metrics" else 404)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    gate = {"url": f"http://127.0.0.1:{server.server_port}"}
    (paths.release(record.id) / "gate.json").write_text(gate_text(gate, {}))
    try:
        assert NoDrain().busy(context) == 7
    finally:
        server.shutdown()
        server.server_close()
    assert NoDrain().busy(context) is None
