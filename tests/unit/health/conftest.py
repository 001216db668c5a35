# SPDX-License-Identifier: Apache-2.0
"""A local server that plays vLLM's GET routes and remembers every method that it was asked with."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Routes = dict[str, tuple[int, bytes]]
METRICS = """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting{engine="0",model_name="m"} 1.0
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
"""


def good_routes() -> Routes:
    """The answers of a server that serves."""
    return {
        "/health": (200, b""),
        "/version": (200, b'{"version":"0.32.0+cpu"}'),
        "/v1/models": (200, json.dumps({"object": "list", "data": [{"id": "m"}]}).encode()),
        "/load": (200, b'{"server_load":0}'),
        "/metrics": (200, METRICS.encode()),
    }


class Stub(ThreadingHTTPServer):
    """The server; ``drip`` makes it send one byte of each body every so many seconds."""

    daemon_threads = True

    def __init__(self, routes: Routes, drip: float = 0.0, hang: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.routes, self.drip, self.hang = routes, drip, hang
        self.seen: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is what some tests want."""


class _Handler(BaseHTTPRequestHandler):
    server: Stub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        """Print nothing."""

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if self.raw_requestline and self.parse_request():
            self.server.seen.append((self.command, self.path))
            self.server.headers.append(dict(self.headers.items()))
            self.answer()
        self.close_connection = True

    def answer(self) -> None:
        time.sleep(self.server.hang)
        status, body = self.server.routes.get(self.path, (404, b"{}"))
        if self.command != "GET":
            status, body = 500, b"only GET is allowed here"
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if not self.server.drip:
            self.wfile.write(body)
            return
        for byte in body:
            self.wfile.write(bytes([byte]))
            time.sleep(self.server.drip)


@contextlib.contextmanager
def run_stub(
    changes: dict[str, tuple[int, bytes]] | None = None, drip: float = 0.0, hang: float = 0.0
) -> Iterator[Stub]:
    """Run the stub while the block runs; ``changes`` replace good answers."""
    stub = Stub({**good_routes(), **(changes or {})}, drip, hang)
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        stub.shutdown()
        stub.server_close()


@pytest.fixture
def running() -> Any:
    """The context manager that runs the stub."""
    return run_stub
