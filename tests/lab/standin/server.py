# SPDX-License-Identifier: Apache-2.0
"""The HTTP side of the stand-in engine: the routes of a vLLM server, with the faults that its behaviour asks for."""

from __future__ import annotations

import itertools
import json
import socket
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from . import answers, refusals
from .behaviour import Behaviour
from .logs import Log

_HANG_SECONDS = 3600
_DISCOVERED_SECONDS = 10
READING = frozenset({"/health", "/ping", "/version", "/load", "/v1/models", "/metrics"})


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
        self.asked_dead_engine = threading.Event()
        self.refused_once = False
        self.needed: list[int] = []  # processes without which nothing is generated

    def wait_if_broken(self) -> None:
        """Hold a request that comes between the death of a process and its discovery: it cannot be answered."""
        if any(not _lives(pid) for pid in self.needed):
            self.engine_dead.wait(_DISCOVERED_SECONDS)


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


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

    def send_json(self, status: int, body: Any, **headers: str) -> None:
        """Answer with a JSON body."""
        self.send_text(status, json.dumps(body, separators=(",", ":")), "application/json", **headers)

    def send_text(self, status: int, text: str, kind: str = "", **headers: str) -> None:
        """Answer with a text, and write uvicorn's access line; vLLM's empty answers are of no kind."""
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in {"Content-Type": kind, **headers}.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)
        self.access(status)

    def version_string(self) -> str:
        """The server that vLLM has."""
        return "uvicorn"

    def access(self, status: int) -> None:
        """uvicorn's access line."""
        peer = f"{self.client_address[0]}:{self.client_address[1]}"
        self.state.log.plain(f'INFO:     {peer} - "{self.requestline}" {status} {HTTPStatus(status).phrase}')

    def allowed(self) -> bool:
        """Whether the API key is right; only /v1 and its like ask for it."""
        path = self.path.split("?")[0]
        if not self.state.api_key or not path.startswith(("/v1", "/v2", "/inference")):
            return True
        if self.headers.get("Authorization") == f"Bearer {self.state.api_key}":
            return True
        self.send_json(401, {"error": "Unauthorized"})
        return False

    def routed(self) -> str | None:
        """The path, when it has this method and the key is right; else it is answered here as FastAPI answers."""
        path = self.path.split("?")[0]
        ways = {"GET": READING, "POST": self.working_paths()}
        if not self.allowed():
            return None
        if path in ways.get(self.command, ()):
            return path
        others = [method for method, paths in ways.items() if path in paths]
        if others:
            self.send_json(405, {"detail": "Method Not Allowed"}, Allow=", ".join(others))
        elif path.rstrip("/") in READING | ways["POST"]:
            self.send_text(307, "", Location=f"http://{self.headers.get('Host', '')}{path.rstrip('/')}")
        else:
            self.send_json(404, {"detail": "Not Found"})
        return None

    def do_other(self) -> None:
        """A method that no route has."""
        self.routed()

    do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_other

    def do_GET(self) -> None:
        """The routes that say how things are."""
        state, behaviour = self.state, self.state.behaviour
        path = self.routed()
        if path in ("/health", "/ping"):
            self.say_health()
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

    def do_POST(self) -> None:
        """The routes that work."""
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.routed()
        if path is None:
            return
        if path == "/ping":  # it answers POST as it answers GET
            self.say_health()
            return
        state = self.state
        if path.startswith("/v1/") and self.misbehaves():
            return
        body, refusal = refusals.read_body(raw)
        refusal = refusal or refusals.judge(path, body, state.names, state.max_len)
        if refusal is not None:
            self.send_json(*refusal)
        elif path == "/v1/embeddings":
            self.send_json(200, answers.embedding(body, state.names[0]))
        elif path == "/tokenize":
            self.send_json(200, answers.tokens(body, state.max_len))
        elif path == "/detokenize":
            self.send_json(200, {"prompt": " ".join(str(token) for token in body.get("tokens", []))})
        else:
            self.generate(body, chat=path == "/v1/chat/completions")

    def say_health(self) -> None:
        """The status of /health, unless it never answers."""
        status = 503 if self.state.engine_dead.is_set() else self.state.behaviour.health
        if status is None:
            time.sleep(_HANG_SECONDS)
        else:
            self.send_text(status, "")

    def working_paths(self) -> frozenset[str]:
        """The POST routes that this model has."""
        always = {"/ping", "/tokenize", "/detokenize"}
        if self.state.pooling:
            return frozenset(always | {"/v1/embeddings"})
        completions = set() if self.state.behaviour.no_completions else {"/v1/completions"}
        return frozenset(always | {"/v1/chat/completions"} | completions)

    def misbehaves(self) -> bool:
        """Whether this request was used up by a fault."""
        state, fault = self.state, self.state.behaviour.post
        state.wait_if_broken()
        with state.lock:
            first, state.refused_once = not state.refused_once, True
        if state.engine_dead.is_set():
            self.send_json(500, refusals.dead_engine())
            state.asked_dead_engine.set()  # vLLM then ends at once, and does not wait for its watchdog
        elif fault == "fail":
            self.send_json(500, refusals.dead_engine())
        elif fault == "unavailable" or (fault == "once503" and first):
            self.send_json(503, refusals.error("server is overloaded", "ServiceUnavailable", 503))
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
        prompts = answers.prompts_of(body)
        asked = answers.Asked(
            number=next(state.numbers),
            model=body.get("model") or state.names[0],
            chat=chat,
            prompts=prompts,
            choices=len(prompts) * int(body.get("n") or 1),
            fingerprint=f"vllm-{behaviour.version}-standin0",
            finish=None if behaviour.post == "unfinished" else "length",
            wants_usage=bool((body.get("stream_options") or {}).get("include_usage")),
        )
        count = 0 if behaviour.post == "empty" else answers.token_count(body, chat)
        words = answers.words_for(prompts[0], count, behaviour.post == "nonsense")
        with state.lock:
            state.counters.running += 1
            state.counters.prompt_tokens += sum(answers.tokens_in(prompt) for prompt in prompts)
        try:
            time.sleep(behaviour.first_token_seconds)
            if body.get("stream"):
                self.stream(answers.chunks(asked, words))
            else:
                time.sleep(behaviour.token_seconds * len(words))
                self.send_json(200, answers.whole(asked, words))
        finally:
            with state.lock:
                state.counters.running -= 1
                state.counters.generation_tokens += len(words)
                state.counters.finished += 1

    def stream(self, events: list[dict[str, Any]]) -> None:
        """Answer in server-sent events."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            time.sleep(self.state.behaviour.token_seconds)
            self.chunk(f"data: {json.dumps(event, separators=(',', ':'))}\n\n")
        self.chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        self.access(200)

    def chunk(self, text: str) -> None:
        """One chunk of a body of unknown length."""
        data = text.encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()
