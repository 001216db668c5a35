# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read the answers of the OpenAI routes: a stream of events, or an embedding.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from .answer import Answer, short
from .evidence import Reply

_TEXT_LIMIT = 200
_NO_EVENTS = "answered 200, but not with the events of a completion"
_TEXT_KEYS = ("content", "reasoning_content", "reasoning")


def read_stream(route: str, answer: Answer, attempts: int) -> Reply:
    """Read a streamed completion or chat."""
    if not answer.ok:
        return Reply(route, answer, attempts=attempts)
    text, finish, tokens, pieces = "", None, None, 0
    problem: str | None = _NO_EVENTS
    for event in _events(answer.text):
        if "error" in event:
            return Reply(route, answer, problem=f"the stream ended with an error: {_said(event)}", attempts=attempts)
        problem = None
        tokens = _tokens(event, tokens)
        choice = _first(event.get("choices"))
        piece = _text_of(choice)
        pieces += bool(piece)
        text = (text + piece)[: 4 * _TEXT_LIMIT]
        finish = choice.get("finish_reason") or finish
    count = pieces if tokens is None else tokens
    return Reply(route, answer, short(text, _TEXT_LIMIT), count, finish, problem, attempts)


def read_embedding(route: str, answer: Answer, attempts: int) -> Reply:
    """Read an embedding, or what another pooling model gives."""
    if not answer.ok:
        return Reply(route, answer, attempts=attempts)
    data = answer.json()
    first = _first(data.get("data")) if isinstance(data, dict) else {}
    vector = first.get("embedding", first.get("data"))
    while isinstance(vector, list) and vector and isinstance(vector[0], list):  # one vector a token
        vector = vector[0]
    if not isinstance(vector, list) or not vector or not all(isinstance(number, (int, float)) for number in vector):
        return Reply(route, answer, problem="answered 200, but without a vector of numbers", attempts=attempts)
    return Reply(route, answer, tokens=len(vector), finish_reason="stop", attempts=attempts)


def _events(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        if line.startswith("data:"):
            try:
                event = json.loads(line[len("data:") :])
            except (ValueError, RecursionError):  # [DONE], or no JSON
                continue
            if isinstance(event, dict) and ("choices" in event or "error" in event):
                yield event


def _tokens(event: dict[str, Any], before: int | None) -> int | None:
    usage = event.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) else before


def _first(items: Any) -> dict[str, Any]:
    first = items[0] if isinstance(items, list) and items else {}
    return first if isinstance(first, dict) else {}


def _text_of(choice: dict[str, Any]) -> str:
    """The text of one piece: of a completion, or what a chat model says or thinks."""
    delta = choice.get("delta")
    source = delta if isinstance(delta, dict) else choice
    values = [choice.get("text"), *(source.get(key) for key in _TEXT_KEYS)]
    return "".join(value for value in values if isinstance(value, str))


def _said(event: dict[str, Any]) -> str:
    error = event["error"]
    return short(str(error.get("message", error) if isinstance(error, dict) else error))
