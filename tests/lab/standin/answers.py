# SPDX-License-Identifier: Apache-2.0
"""What the stand-in engine answers to the OpenAI routes: the same text for the same prompt, one word a token."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any

_WORDS = ("blue", "river", "seven", "of", "light", "stone", "under", "a", "quiet", "hill", "and", "then", "north")
_MODEL_GONE = 404


@dataclass
class Counters:
    """What the server did so far; /metrics and /load show it."""

    running: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: int = 0


def words_for(prompt: str, count: int, nonsense: bool) -> list[str]:
    """The tokens of an answer."""
    seed = hashlib.sha256(prompt.encode("utf-8", "replace")).digest()
    if nonsense:
        return ["\ufffd"] * count
    return [" " + _WORDS[seed[index % len(seed)] % len(_WORDS)] for index in range(count)]


def error(message: str, kind: str, code: int, param: str | None = None) -> dict[str, Any]:
    """An error body of the OpenAI routes."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def unknown_model(name: Any) -> dict[str, Any]:
    """The answer to a request for a model that is not served."""
    return error(f"The model `{name}` does not exist.", "NotFoundError", _MODEL_GONE, "model")


def prompt_of(body: dict[str, Any]) -> str:
    """The text that a request gives, whatever its kind."""
    if "messages" in body:
        return " ".join(str(message.get("content", "")) for message in body["messages"])
    return str(body.get("prompt", body.get("input", "")))


def token_count(body: dict[str, Any], chat: bool) -> int:
    """How many tokens a request asks for."""
    asked = body.get("max_completion_tokens") if chat else None
    return int(asked or body.get("max_tokens") or (64 if chat else 16))


def usage(prompt: str, tokens: int) -> dict[str, int]:
    """The token figures of one answer."""
    given = max(1, len(prompt.split()))
    return {"prompt_tokens": given, "total_tokens": given + tokens, "completion_tokens": tokens}


def frame(body: dict[str, Any], chat: bool, number: int, stream: bool) -> dict[str, Any]:
    """The part that every answer has."""
    kind = ("chat.completion" + (".chunk" if stream else "")) if chat else "text_completion"
    name = f"{'chatcmpl' if chat else 'cmpl'}-standin{number}"
    return {"id": name, "object": kind, "created": int(time.time()), "model": body.get("model")}


def choice(text: str, chat: bool, stream: bool, finish: str | None) -> dict[str, Any]:
    """One choice with its text."""
    if not chat:
        return {"index": 0, "text": text, "logprobs": None, "finish_reason": finish, "stop_reason": None}
    part = {"content": text} if stream else {"role": "assistant", "content": text}
    return {"index": 0, "delta" if stream else "message": part, "logprobs": None, "finish_reason": finish}


def embedding(body: dict[str, Any]) -> dict[str, Any]:
    """An embedding of eight numbers a text."""
    given = body.get("input", "")
    texts = given if isinstance(given, list) else [given]
    data = []
    for index, text in enumerate(texts):
        seed = hashlib.sha256(str(text).encode()).digest()[:8]
        data.append({"index": index, "object": "embedding", "embedding": [byte / 256 for byte in seed]})
    tokens = sum(max(1, len(str(text).split())) for text in texts)
    return {
        "id": "embd-standin",
        "object": "list",
        "created": int(time.time()),
        "model": body.get("model"),
        "data": data,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0},
    }


def model_list(names: list[str], model: str, max_len: int) -> dict[str, Any]:
    """The answer of /v1/models."""
    cards = [
        {"id": name, "object": "model", "owned_by": "vllm", "root": model, "parent": None, "max_model_len": max_len}
        for name in names
    ]
    return {"object": "list", "data": cards}


def metrics(name: str, counters: Counters, kv_tokens: int, max_len: int) -> str:
    """Part of the exposition text of /metrics."""
    labels = f'engine="0",model_name="{name}"'
    capacity = f'kv_cache_max_concurrency="{kv_tokens / max_len}",kv_cache_size_tokens="{kv_tokens}"'
    lines = [
        "# HELP python_info Python platform information",
        "# TYPE python_info gauge",
        'python_info{implementation="CPython",major="3"} 1.0',
    ]
    for kind, metric, more, value in (
        ("gauge", "num_requests_running", "", counters.running),
        ("gauge", "num_requests_waiting", "", 0),
        ("gauge", "kv_cache_usage_perc", "", min(1.0, counters.running * 0.01)),
        ("counter", "prompt_tokens_total", "", counters.prompt_tokens),
        ("counter", "generation_tokens_total", "", counters.generation_tokens),
        ("counter", "request_success_total", ',finished_reason="length"', counters.finished),
    ):
        family = metric.removesuffix("_total") if kind == "counter" else metric
        lines += [f"# HELP vllm:{family} Stand-in engine.", f"# TYPE vllm:{family} {kind}"]
        lines.append(f"vllm:{metric}{{{labels}{more}}} {float(value)}")
    lines += ["# HELP vllm:cache_config_info Stand-in engine.", "# TYPE vllm:cache_config_info gauge"]
    lines.append(f'vllm:cache_config_info{{block_size="16",engine="0",{capacity}}} 1.0')
    return "\n".join(lines) + "\n"
