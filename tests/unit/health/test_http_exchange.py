# SPDX-License-Identifier: Apache-2.0
"""One HTTP exchange: bounded, and never an exception."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.http import request


@pytest.fixture
def raw() -> Iterator[socket.socket]:
    """A listening socket that says nothing by itself."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def url_of(server: socket.socket) -> str:
    return f"http://127.0.0.1:{server.getsockname()[1]}/x"


def serve(server: socket.socket, *pieces: bytes, pause: float = 0.0) -> None:
    """Answer one connection with these pieces."""

    def work() -> None:
        peer, _address = server.accept()
        with peer:
            peer.recv(65536)
            for piece in pieces:
                try:
                    peer.sendall(piece)
                except OSError:
                    return
                time.sleep(pause)

    threading.Thread(target=work, daemon=True).start()


@pytest.mark.parametrize(
    "url", ["", "x", "ftp://h/", "http://", "http://u:secret@h/", "http://h:0x1/", "http://[::1", "file:///etc/passwd"]
)
def test_a_bad_url_is_an_answer_that_does_not_repeat_it(url: str) -> None:
    answer = request(url)
    assert answer.status is None
    assert answer.error is not None and "secret" not in answer.error


def test_a_post_carries_its_body_and_says_the_status(running: Any) -> None:
    with running() as stub:
        answer = request(stub.url + "/health", method="POST", body=b"{}")
    assert (answer.status, answer.ok) == (500, False)


def test_a_redirect_is_not_followed(raw: socket.socket) -> None:
    serve(raw, b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n")
    answer = request(url_of(raw))
    assert (answer.status, answer.error) == (302, None)


def test_dripped_headers_do_not_outlast_the_limit(raw: socket.socket) -> None:
    serve(raw, *[b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n"] * 200], pause=0.05)
    answer = request(url_of(raw), timeout=0.4)
    assert answer.timed_out and answer.error == "no answer within 0.4 s"
    assert answer.seconds < 1.0


def test_a_server_that_accepts_and_is_silent(raw: socket.socket) -> None:
    assert request(url_of(raw), timeout=0.2).timed_out


@pytest.mark.parametrize("first", [b"SSH-2.0-OpenSSH\r\n", b"\x00\xff\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n"])
def test_another_protocol_is_no_exception(raw: socket.socket, first: bytes) -> None:
    serve(raw, first)
    answer = request(url_of(raw), timeout=2)
    assert (answer.status, answer.timed_out) == (None, False)


def test_a_closed_connection_is_told(raw: socket.socket) -> None:
    serve(raw)
    assert request(url_of(raw), timeout=2).error == "the server closed the connection without an answer"


def test_a_cut_body_is_no_answer(raw: socket.socket) -> None:
    serve(raw, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
    assert request(url_of(raw), timeout=2).error == "the answer ended before it was complete"


def test_a_cut_chunked_body_is_no_answer(raw: socket.socket) -> None:
    serve(raw, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
    assert request(url_of(raw), timeout=2).status is None


def test_a_long_body_is_cut_at_the_bound(running: Any) -> None:
    with running({"/x": (200, b"y" * 5000)}) as stub:
        answer = request(stub.url + "/x", max_bytes=100)
    assert (len(answer.body), answer.truncated, answer.ok) == (100, True, False)


def test_the_first_piece_has_a_limit_of_its_own(raw: socket.socket) -> None:
    serve(raw, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\n: x\r\n", pause=2)
    answer = request(url_of(raw), timeout=5, first=(b"data:", 0.3))
    assert answer.timed_out and answer.seconds < 1.5
    assert answer.error == "no answer within 0.3 s"


def test_when_the_first_piece_is_there_the_rest_may_take_longer(raw: socket.socket) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    serve(raw, head + b"data:", b"abcde", pause=0.5)
    answer = request(url_of(raw), timeout=5, first=(b"data:", 0.3))
    assert (answer.error, answer.body) == (None, b"data:abcde")
    assert answer.first_seconds is not None and answer.first_seconds < 0.3 < answer.seconds


def test_an_unknown_name() -> None:
    assert (
        request("http://no-such-host.invalid/", timeout=2).error == "the name no-such-host.invalid cannot be resolved"
    )
