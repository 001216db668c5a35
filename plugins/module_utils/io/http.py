# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One HTTP exchange with a hard end: straight to the address, no proxy, no redirect, bounded in time and size.

Never raises for what a network or a server does; the answer says what happened. The time limit holds against a server
that drips bytes, too; only the resolver of the operating system is not under it.
Private to the collection.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable
from urllib.parse import urlsplit

from ..health.answer import Answer

__all__ = ["Answer", "Requester", "is_url", "request"]

Requester = Callable[..., Answer]
_PIECE = 65536
_REASONS: tuple[tuple[tuple[type[Exception], ...], str], ...] = (
    ((ConnectionRefusedError,), "connection refused"),
    (
        (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError),
        "the server closed the connection without an answer",
    ),
    ((http.client.IncompleteRead,), "the answer ended before it was complete"),
    ((http.client.HTTPException,), "the server does not speak HTTP as it should"),
    ((ValueError,), "a header or the path holds a character that HTTP forbids"),
)


@dataclass(frozen=True)
class _Place:
    """Where a request goes."""

    secure: bool
    host: str
    port: int
    target: str


def request(  # noqa: PLR0913 - each is a part of one HTTP request
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout: float = 10.0,
    max_bytes: int = 1 << 20,
    first: tuple[bytes, float] | None = None,
) -> Answer:
    """Make one request that takes ``timeout`` seconds and reads ``max_bytes`` at most.

    ``first`` is a text and a time: the exchange ends early when the body does not hold the text by then.
    """
    began = time.monotonic()
    place = _place(url)
    if place is None:
        return Answer(None, b"", 0.0, "the URL is not http://HOST[:PORT] or https://HOST[:PORT]")
    exchange = _Exchange(place, began, timeout, first)
    try:
        return exchange.run(method, dict(headers or {}), body, max_bytes)
    except (OSError, http.client.HTTPException, ValueError) as error:
        return exchange.failure(error)
    finally:
        exchange.close()


def is_url(url: str) -> bool:
    """Whether a request can go there: http or https, a host, no user and password."""
    return _place(url) is not None


def _place(url: str) -> _Place | None:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        return None
    secure = parts.scheme == "https"
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _Place(secure, parts.hostname, port or (443 if secure else 80), target)


class _Exchange:
    """One connection with a watchdog: at the deadline the socket is shut, so that no read can outlast it."""

    def __init__(self, place: _Place, began: float, timeout: float, first: tuple[bytes, float] | None) -> None:
        self.place = place
        self.began = began
        self.timeout = timeout
        self.first = first
        self.first_seconds: float | None = None
        self.overdue: float | None = None
        self.sock: socket.socket | None = None
        self.timers: list[threading.Timer] = []

    def run(
        self,
        method: str,
        headers: dict[str, str],
        body: bytes | None,
        max_bytes: int,
    ) -> Answer:
        self.watch(self.timeout)
        if self.first is not None:
            self.watch(self.first[1])
        connection = http.client.HTTPConnection(self.place.host, self.place.port)
        connection.sock = self.connect()
        connection.request(method, self.place.target, body=body, headers={"Connection": "close", **headers})
        response = connection.getresponse()
        data, truncated = self.read(response, max_bytes)
        if self.overdue is not None:
            raise TimeoutError
        kept = {name.lower(): value for name, value in response.getheaders()}
        return Answer(
            response.status,
            data,
            self.elapsed(),
            headers=kept,
            first_seconds=self.first_seconds,
            truncated=truncated,
        )

    def connect(self) -> socket.socket:
        """Connect to the first address that answers, all of them within the one time limit."""
        found = socket.getaddrinfo(self.place.host, self.place.port, type=socket.SOCK_STREAM)
        last: OSError = OSError("no address")
        for family, kind, protocol, _name, address in found:
            sock = socket.socket(family, kind, protocol)
            sock.settimeout(max(0.001, self.timeout - self.elapsed()))
            try:
                sock.connect(address)
            except OSError as error:
                sock.close()
                last = error
                continue
            self.sock = sock
            return self.secured(sock) if self.place.secure else sock
        raise last

    def secured(self, sock: socket.socket) -> socket.socket:
        wrapped = ssl.create_default_context().wrap_socket(
            sock, server_hostname=self.place.host, do_handshake_on_connect=False
        )
        self.sock = wrapped  # the watchdog has to find it while the handshake is under way
        wrapped.do_handshake()
        return wrapped

    def watch(self, seconds: float) -> None:
        timer = threading.Timer(max(0.0, seconds - self.elapsed()), self.expire, [seconds])
        timer.daemon = True
        self.timers.append(timer)
        timer.start()

    def expire(self, seconds: float) -> None:
        waits_for_first = self.first is not None and seconds == self.first[1]
        if waits_for_first and self.first_seconds is not None and seconds < self.timeout:
            return
        self.overdue = seconds
        if self.sock is not None:
            with contextlib.suppress(OSError):
                # Not SSLSocket's own shutdown, which takes the TLS state away under the reader.
                socket.socket.shutdown(self.sock, socket.SHUT_RDWR)

    def read(self, response: http.client.HTTPResponse, max_bytes: int) -> tuple[bytes, bool]:
        data = bytearray()
        marker = self.first[0] if self.first is not None else b""
        while len(data) <= max_bytes:
            piece = response.read1(_PIECE)
            if not piece:
                if response.length:
                    raise http.client.IncompleteRead(b"", response.length)
                return bytes(data), False
            data += piece
            if self.first_seconds is None and marker in data:
                self.first_seconds = self.elapsed()
        return bytes(data[:max_bytes]), True

    def failure(self, error: Exception) -> Answer:
        late = self.overdue is not None or isinstance(error, (TimeoutError, socket.timeout))
        text = f"no answer within {self.overdue or self.timeout:g} s" if late else self.reason(error)
        return Answer(None, b"", self.elapsed(), text, first_seconds=self.first_seconds, timed_out=late)

    def reason(self, error: Exception) -> str:
        """Why there is no answer; never the text of an error that could show a header's value."""
        if isinstance(error, socket.gaierror):
            return f"the name {self.place.host} cannot be resolved"
        if isinstance(error, ssl.SSLError):
            return f"TLS failed: {getattr(error, 'verify_message', '') or error.reason or 'handshake'}"
        known = next((text for kinds, text in _REASONS if isinstance(error, kinds)), None)
        return known or getattr(error, "strerror", None) or type(error).__name__

    def elapsed(self) -> float:
        return time.monotonic() - self.began

    def close(self) -> None:
        for timer in self.timers:
            timer.cancel()
        if self.sock is not None:
            self.sock.close()
