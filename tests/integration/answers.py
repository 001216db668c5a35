"""Ask every route of a vLLM server that the collection or its users ask, and keep the shapes of the answers."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any

_ASKED = {"model": "chat", "prompt": "a b", "max_tokens": 3, "temperature": 0}
_CHAT = {"model": "chat", "messages": [{"role": "user", "content": "a b"}], "max_tokens": 3, "temperature": 0}
_PATIENCE = 300.0  # seconds for one answer, on a busy machine
_USAGE = {"stream": True, "stream_options": {"include_usage": True}}


@dataclass(frozen=True)
class Answer:
    """The status, the kind of content, and the shape of the body: keys and types, no values."""

    status: int
    kind: str | None
    allow: str | None
    shape: Any
    text: str


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    body: Any = None
    key: str | None = "right"


def _without(body: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


REQUESTS = {
    "health": _Request("GET", "/health"),
    "health without a key": _Request("GET", "/health", key=None),
    "health with HEAD": _Request("HEAD", "/health"),
    "health with POST": _Request("POST", "/health"),
    "health with a slash": _Request("GET", "/health/"),
    "ping": _Request("GET", "/ping"),
    "ping with POST": _Request("POST", "/ping"),
    "version": _Request("GET", "/version"),
    "load": _Request("GET", "/load"),
    "metrics": _Request("GET", "/metrics"),
    "metrics without a key": _Request("GET", "/metrics", key=None),
    "models": _Request("GET", "/v1/models"),
    "models without a key": _Request("GET", "/v1/models", key=None),
    "models with a wrong key": _Request("GET", "/v1/models", key="wrong"),
    "models with POST": _Request("POST", "/v1/models"),
    "one model": _Request("GET", "/v1/models/chat"),
    "nothing there": _Request("GET", "/nothing"),
    "nothing there below /v1": _Request("GET", "/v1/nothing"),
    "nothing there without a key": _Request("GET", "/v1/nothing", key=None),
    "POST to nothing": _Request("POST", "/v1/nothing", _ASKED),
    "the root": _Request("GET", "/"),
    "completion": _Request("POST", "/v1/completions", _ASKED),
    "completion streamed": _Request("POST", "/v1/completions", {**_ASKED, "stream": True}),
    "completion streamed with usage": _Request("POST", "/v1/completions", {**_ASKED, **_USAGE}),
    "completion of two prompts": _Request("POST", "/v1/completions", {**_ASKED, "prompt": ["a", "b"]}),
    "completion of tokens": _Request("POST", "/v1/completions", {**_ASKED, "prompt": [3, 4]}),
    "completion twice": _Request("POST", "/v1/completions", {**_ASKED, "n": 2, "temperature": 0.5}),
    "completion of no model": _Request("POST", "/v1/completions", _without(_ASKED, "model")),
    "completion with GET": _Request("GET", "/v1/completions"),
    "completion without a key": _Request("POST", "/v1/completions", _ASKED, key=None),
    "completion with a wrong key": _Request("POST", "/v1/completions", {**_ASKED, "model": "x"}, key="wrong"),
    "completion of a wrong model": _Request("POST", "/v1/completions", {**_ASKED, "model": "x"}),
    "completion of no prompt": _Request("POST", "/v1/completions", _without(_ASKED, "prompt")),
    "completion of an empty map": _Request("POST", "/v1/completions", {}),
    "completion of a list": _Request("POST", "/v1/completions", [1]),
    "completion of an empty body": _Request("POST", "/v1/completions", b""),
    "completion of half a body": _Request("POST", "/v1/completions", b"{"),
    "completion of too many tokens": _Request("POST", "/v1/completions", {**_ASKED, "max_tokens": 100000}),
    "completion of fewer than no tokens": _Request("POST", "/v1/completions", {**_ASKED, "max_tokens": -1}),
    "completion of a word of tokens": _Request("POST", "/v1/completions", {**_ASKED, "max_tokens": "x"}),
    "completion of a long prompt": _Request("POST", "/v1/completions", {**_ASKED, "prompt": "a b " * 600}),
    "completion below zero degrees": _Request("POST", "/v1/completions", {**_ASKED, "temperature": -1}),
    "chat": _Request("POST", "/v1/chat/completions", _CHAT),
    "chat streamed": _Request("POST", "/v1/chat/completions", {**_CHAT, "stream": True}),
    "chat streamed with usage": _Request("POST", "/v1/chat/completions", {**_CHAT, **_USAGE}),
    "chat with a wrong model": _Request("POST", "/v1/chat/completions", {**_CHAT, "model": "x"}),
    "chat without messages": _Request("POST", "/v1/chat/completions", _without(_CHAT, "messages")),
    "tokenize": _Request("POST", "/tokenize", {"model": "chat", "prompt": "a b"}),
    "tokenize without a key": _Request("POST", "/tokenize", {"model": "chat", "prompt": "a b"}, key=None),
    "tokenize a chat": _Request("POST", "/tokenize", _without(_CHAT, "max_tokens")),
    "tokenize with a wrong model": _Request("POST", "/tokenize", {"model": "x", "prompt": "a b"}),
    "detokenize": _Request("POST", "/detokenize", {"model": "chat", "tokens": [3, 4]}),
    "embeddings of a model that generates": _Request("POST", "/v1/embeddings", {"model": "chat", "input": "a"}),
}


def ask_all(host: str, port: int, key: str) -> dict[str, Answer]:
    """Ask everything, one request after the other, each on a connection of its own."""
    return {label: _ask(host, port, key, request) for label, request in REQUESTS.items()}


def _ask(host: str, port: int, key: str, request: _Request) -> Answer:
    headers = {} if request.key is None else {"Authorization": f"Bearer {key if request.key == 'right' else 'wrong'}"}
    body = None
    if request.body is not None:
        body = request.body if isinstance(request.body, bytes) else json.dumps(request.body).encode()
        headers["Content-Type"] = "application/json"
    connection = http.client.HTTPConnection(host, port, timeout=_PATIENCE)
    try:
        connection.request(request.method, request.path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
    finally:
        connection.close()
    kind = answer.getheader("Content-Type")
    return Answer(answer.status, kind, answer.getheader("Allow"), shape_of_text(kind, text), text)


def shape_of_text(kind: str | None, text: str) -> Any:
    """The shape of a body."""
    if kind == "application/json" and text:  # an answer to HEAD has no body
        return shape(json.loads(text))
    if kind is not None and kind.startswith("text/event-stream"):
        return events(text)
    return None


def events(text: str) -> list[Any]:
    """The shapes of a stream's events; one that is like the one before it is left out, for a token may be many."""
    found: list[Any] = []
    for line in text.split("\n"):
        if not line.startswith("data: "):
            continue
        word = line.removeprefix("data: ")
        each = word if word == "[DONE]" else shape(json.loads(word))
        found += [] if each in found[-1:] else [each]
    return found


def shape(value: Any) -> Any:
    """Keys and types of a value, as JSON has them; of a list the different shapes of what it holds."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        shapes: list[Any] = []
        for each in value:
            shapes += [] if shape(each) in shapes else [shape(each)]
        return shapes
    if value is None:
        return "null"
    return {bool: "boolean", int: "number", float: "number", str: "string"}[type(value)]
