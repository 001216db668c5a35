# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Registries asked over real HTTP, on loopback."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.registry import getter
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings


class Handler(BaseHTTPRequestHandler):
    """Answers with what it was sent; /away sends to another place."""

    def do_GET(self):
        if self.path == "/away":
            self.send_response(307)
            self.send_header("Location", "/seen")
        else:
            self.send_response(404 if self.path == "/no" else 200)
        self.send_header("X-Saw", self.headers.get("Authorization") or "nothing")
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def base():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


def test_answers(base):
    answer = getter(registry_settings({}))(f"{base}/x", {"Authorization": "Basic a"})
    assert (answer.status, answer.body, answer.headers["x-saw"]) == (200, b"/x", "Basic a")
    assert getter(registry_settings({}))(f"{base}/no", {}).status == 404


def test_a_login_does_not_follow_to_another_place(base):
    answer = getter(registry_settings({}))(f"{base}/away", {"Authorization": "Basic a"})
    assert (answer.body, answer.headers["x-saw"]) == (b"/seen", "nothing")


def test_the_proxy_is_used_and_left_out(base):
    through = getter(registry_settings({"proxy": base, "no_proxy": ["registry.invalid"]}), timeout=5)
    assert through("http://elsewhere.invalid/v2/", {}).body == b"http://elsewhere.invalid/v2/"
    assert through("http://sub.registry.invalid/v2/", {}).status == 0


def test_nobody_there():
    answer = getter(registry_settings({}), timeout=5)("http://127.0.0.1:9/", {})
    assert (answer.status, answer.error) == (0, "Connection refused")


def test_what_is_no_certificate_is_named():
    with pytest.raises(Refusal, match=r"vllm_registry\.ca_cert"):
        getter(registry_settings({"ca_cert": "nonsense"}))
