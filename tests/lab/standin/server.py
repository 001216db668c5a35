# SPDX-License-Identifier: Apache-2.0
"""The HTTP side of the stand-in engine: the routes of a vLLM server, with the faults that its behaviour asks for."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import answers
from .behaviour import Behaviour
from .logs import Log

_HANG_SECONDS = 3600


class State:
    """What all requests of one server share."""

    def __init__(self, options: dict[str, Any], behaviour: Behaviour, log: Log, max_len: int, api_key: str) -> None:
        self.options = options
        self.behaviour = behaviour
        self.log = log
        self.max_len = max_len
        self.api_key = api_key
        self.names = options.get("served_model_name") or [options["model"]]
        self.pooling = options.get("runner") == "pooling"
        self.counters = answers.Counters()
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        self.engine_dead = threading.Event()
        self.refused_once = False


class Server(ThreadingHTTPServer):
    """A server that binds when it is made and listens when it is told: vLLM holds its port while it loads."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, host: str, port: int, state: State) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.state = state
        super().__init__((host, port), Handler, bind_and_activate=False)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((host, port))
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = host, port

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no event."""


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server: Server

    @property
    def state(self) -> State:
        """The server's state."""
        return self.server.state

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Print no line of http.server's own."""

    def send_json(self, status: int, body: Any) -> None:
        """Answer with a JSON body."""
        self.send_text(status, json.dumps(body), "application/json")

    def send_text(self, status: int, text: str, kind: str = "text/plain; charset=utf-8") -> None:
        """Answer with a text, and write uvicorn's access line."""
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.access(status)

    def access(self, status: int) -> None:
        """uvicorn's access line."""
        peer = f"{self.client_address[0]}:{self.client_address[1]}"
        words = {200: "OK", 401: "Unauthorized", 404: "Not Found", 503: "Service Unavailable"}
        self.state.log.plain(f'INFO:     {peer} - "{self.requestline}" {status} {words.get(status, "Error")}')

    def allowed(self) -> bool:
        """Whether the API key is right; only /v1 and its like ask for it."""
        path = self.path.split("?")[0]
        if not self.state.api_key or not path.startswith(("/v1", "/v2", "/inference")):
            return True
        if self.headers.get("Authorization") == f"Bearer {self.state.api_key}":
            return True
        self.send_json(401, {"error": "Unauthorized"})
        return False

    def do_GET(self) -> None:
        """The routes that say how things are."""
        state, behaviour = self.state, self.state.behaviour
        path = self.path.split("?")[0].rstrip("/")
        if not self.allowed():
            return
        if path in ("/health", "/ping"):
            self.send_text(503 if state.engine_dead.is_set() else behaviour.health, "")
        elif path == "/version":
            self.send_json(200, {"version": behaviour.build})
        elif path == "/load":
            self.send_json(200, {"server_load": state.counters.running})
        elif path == "/v1/models":
            names = [behaviour.model_name] if behaviour.model_name else state.names
            self.send_json(200, answers.model_list(names, state.options["model"], state.max_len))
        elif path == "/metrics":
            text = answers.metrics(state.names[0], state.counters, behaviour.kv_tokens, state.max_len)
            self.send_text(200, text, "text/plain; version=1.0.0; charset=utf-8")
        else:
            self.send_json(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        """The routes that work."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if not self.allowed() or self.misbehaves():
            return
        path = self.path.split("?")[0].rstrip("/")
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        if not isinstance(body, dict):
            self.send_json(400, answers.error("body is not a JSON object", "BadRequestError", 400))
        elif path not in self.working_paths():
            self.send_json(404, {"detail": "Not Found"})
        elif body.get("model") not in self.state.names:
            self.send_json(404, answers.unknown_model(body.get("model")))
        elif path == "/v1/embeddings":
            self.send_json(200, answers.embedding(body))
        else:
            self.generate(body, chat=path == "/v1/chat/completions")

    def working_paths(self) -> set[str]:
        """The POST routes that this model has."""
        if self.state.pooling:
            return {"/v1/embeddings"}
        completions = set() if self.state.behaviour.no_completions else {"/v1/completions"}
        return {"/v1/chat/completions"} | completions

    def misbehaves(self) -> bool:
        """Whether this request was used up by a fault."""
        state, fault = self.state, self.state.behaviour.post
        with state.lock:
            first, state.refused_once = not state.refused_once, True
        if state.engine_dead.is_set() or fault == "fail":
            self.send_json(500, answers.error("EngineCore encountered an issue.", "InternalServerError", 500))
        elif fault == "unavailable" or (fault == "once503" and first):
            self.send_json(503, answers.error("server is overloaded", "ServiceUnavailable", 503))
        elif fault == "hang":
            time.sleep(_HANG_SECONDS)
        elif fault == "drop":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif fault == "garbage":
            self.send_text(200, "\x00\xff<html>stand-in engine garbage", "text/html")
        else:
            return False
        return True

    def generate(self, body: dict[str, Any], *, chat: bool) -> None:
        """Answer a completion or a chat, in one piece or streamed."""
        state, behaviour = self.state, self.state.behaviour
        count = 0 if behaviour.post == "empty" else answers.token_count(body, chat)
        prompt = answers.prompt_of(body)
        words = answers.words_for(prompt, count, behaviour.post == "nonsense")
        finish = None if behaviour.post == "unfinished" else "length"
        with state.lock:
            state.counters.running += 1
            state.counters.prompt_tokens += answers.usage(prompt, 0)["prompt_tokens"]
        try:
            time.sleep(behaviour.first_token_seconds)
            if body.get("stream"):
                self.stream(body, chat, words, finish, prompt)
            else:
                time.sleep(behaviour.token_seconds * len(words))
                whole = answers.frame(body, chat, next(state.numbers), False)
                whole["choices"] = [answers.choice("".join(words), chat, False, finish)]
                self.send_json(200, {**whole, "usage": answers.usage(prompt, len(words))})
        finally:
            with state.lock:
                state.counters.running -= 1
                state.counters.generation_tokens += len(words)
                state.counters.finished += 1

    def stream(self, body: dict[str, Any], chat: bool, words: list[str], finish: str | None, prompt: str) -> None:
        """Answer in server-sent events."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        head = answers.frame(body, chat, next(self.state.numbers), True)
        wants_usage = (body.get("stream_options") or {}).get("include_usage")
        for index, word in enumerate(words):
            time.sleep(self.state.behaviour.token_seconds)
            last = finish if index == len(words) - 1 else None
            self.event({**head, "choices": [answers.choice(word, chat, True, last)]})
        if wants_usage:
            self.event({**head, "choices": [], "usage": answers.usage(prompt, len(words))})
        self.chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        self.access(200)

    def event(self, data: dict[str, Any]) -> None:
        """One server-sent event."""
        self.chunk(f"data: {json.dumps(data)}\n\n")

    def chunk(self, text: str) -> None:
        """One chunk of a body of unknown length."""
        data = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()
