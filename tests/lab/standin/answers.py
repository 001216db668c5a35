# SPDX-License-Identifier: Apache-2.0
"""What the stand-in engine answers to the OpenAI routes: the same text for the same prompt, one word a token."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Any

_WORDS = ("blue", "river", "seven", "of", "light", "stone", "under", "a", "quiet", "hill", "and", "then", "north")


@dataclass
class Counters:
    """What the server did so far; /metrics and /load show it."""

    running: int = 0
    prompt_tokens: int = 0
    generation_tokens: int = 0
    finished: int = 0


@dataclass(frozen=True)
class Asked:
    """One request, read: what every part of its answer needs."""

    number: int
    model: str
    chat: bool
    prompts: tuple[str, ...]
    choices: int
    fingerprint: str
    finish: str | None
    wants_usage: bool

    @property
    def head(self) -> dict[str, Any]:
        """The identity of the answer."""
        return {"id": f"{'chatcmpl' if self.chat else 'cmpl'}-standin{self.number}"}


def words_for(prompt: str, count: int, nonsense: bool) -> list[str]:
    """The tokens of an answer."""
    seed = hashlib.sha256(prompt.encode("utf-8", "replace")).digest()
    if nonsense:
        return ["\ufffd"] * count
    return [" " + _WORDS[seed[index % len(seed)] % len(_WORDS)] for index in range(count)]


def prompts_of(body: dict[str, Any]) -> tuple[str, ...]:
    """The texts that a request gives, whatever its kind; a list of tokens is one text."""
    if "messages" in body:
        return (" ".join(str(message.get("content", "")) for message in body["messages"]),)
    given = body.get("prompt", body.get("input", ""))
    if isinstance(given, list):
        whole = all(isinstance(part, int) for part in given)
        return (" ".join(str(part) for part in given),) if whole else tuple(str(part) for part in given)
    return (str(given),)


def token_count(body: dict[str, Any], chat: bool) -> int:
    """How many tokens a request asks for."""
    asked = body.get("max_completion_tokens") if chat else None
    return int(asked or body.get("max_tokens") or (64 if chat else 16))


def tokens_in(prompt: str) -> int:
    """How many tokens a prompt is."""
    return max(1, len(prompt.split()))


def usage(asked: Asked, tokens: int) -> dict[str, int]:
    """The token figures of one answer."""
    given = sum(tokens_in(prompt) for prompt in asked.prompts)
    made = tokens * asked.choices
    return {"prompt_tokens": given, "total_tokens": given + made, "completion_tokens": made}


def whole(asked: Asked, words: list[str]) -> dict[str, Any]:
    """An answer in one piece."""
    kind = "chat.completion" if asked.chat else "text_completion"
    details = {"prompt_tokens_details": None, "completion_tokens_details": None}
    answer = {
        **asked.head,
        "object": kind,
        "created": int(time.time()),
        "model": asked.model,
        "choices": [_choice(asked, index, "".join(words)) for index in range(asked.choices)],
        "service_tier": None,
        "system_fingerprint": asked.fingerprint,
        "usage": {**usage(asked, len(words)), **details},
    }
    more = {"prompt_logprobs": None, "prompt_token_ids": None, "prompt_text": None} if asked.chat else {}
    return {**answer, **more, "kv_transfer_params": None, "ec_transfer_params": None, "metrics": None}


def _choice(asked: Asked, index: int, text: str) -> dict[str, Any]:
    ending = {"logprobs": None, "finish_reason": asked.finish, "stop_reason": None, "token_ids": None}
    if asked.chat:
        empty = dict.fromkeys(("refusal", "annotations", "audio", "function_call", "reasoning"))
        message = {"role": "assistant", "content": text, **empty}
        return {"index": index, "message": message, **ending, "routed_experts": None}
    empty = dict.fromkeys(("prompt_logprobs", "prompt_token_ids", "routed_experts"))
    return {"index": index, "text": text, **ending, **empty}


def chunks(asked: Asked, words: list[str]) -> list[dict[str, Any]]:
    """The events of a streamed answer, without the last word."""
    kind = "chat.completion.chunk" if asked.chat else "text_completion"
    head = {**asked.head, "object": kind, "created": int(time.time()), "model": asked.model}
    events = []
    if asked.chat:
        role = {
            "index": 0,
            "delta": {"role": "assistant", "content": ""},
            "logprobs": None,
            "finish_reason": None,
        }
        events.append({**head, "choices": [role], "prompt_token_ids": None, "prompt_text": None})
    for place, word in enumerate(words):
        events.append({**head, "choices": [_piece(asked, word, last=place == len(words) - 1)]})
    if asked.wants_usage:
        events.append({**head, "choices": [], "usage": usage(asked, len(words))})
    if events:
        events[-1]["system_fingerprint"] = asked.fingerprint
    return events


def _piece(asked: Asked, word: str, *, last: bool) -> dict[str, Any]:
    finish = asked.finish if last else None
    if not asked.chat:
        given = {"stop_reason": None, "prompt_token_ids": None, "token_ids": None}
        return {"index": 0, "text": word, "logprobs": None, "finish_reason": finish, **given}
    ending = {"stop_reason": None} if finish else {}
    return {
        "index": 0,
        "delta": {"content": word},
        "logprobs": None,
        "finish_reason": finish,
        **ending,
        "token_ids": None,
    }


def embedding(body: dict[str, Any], model: str) -> dict[str, Any]:
    """An embedding of eight numbers a text."""
    texts = prompts_of(body)
    data = []
    for index, text in enumerate(texts):
        seed = hashlib.sha256(text.encode()).digest()[:8]
        data.append({"index": index, "object": "embedding", "embedding": [byte / 256 for byte in seed]})
    tokens = sum(tokens_in(text) for text in texts)
    return {
        "id": "embd-standin",
        "object": "list",
        "created": int(time.time()),
        "model": model,
        "data": data,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens, "completion_tokens": 0},
    }


def tokens(body: dict[str, Any], max_len: int) -> dict[str, Any]:
    """The answer of /tokenize: a number for each word."""
    words = " ".join(prompts_of(body)).split()
    numbers = [hashlib.sha256(word.encode()).digest()[0] for word in words]
    return {"count": len(numbers), "max_model_len": max_len, "tokens": numbers, "token_strs": None}


def model_list(names: list[str], model: str, max_len: int) -> dict[str, Any]:
    """The answer of /v1/models."""
    now = int(time.time())
    may = {"sampling": True, "logprobs": True, "search_indices": False, "view": True, "fine_tuning": False}
    permission = {
        "id": "modelperm-standin",
        "object": "model_permission",
        "created": now,
        "allow_create_engine": False,
        **{f"allow_{name}": value for name, value in may.items()},
        "organization": "*",
        "group": None,
        "is_blocking": False,
    }
    cards = [
        {
            "id": name,
            "object": "model",
            "created": now,
            "owned_by": "vllm",
            "root": model,
            "parent": None,
            "max_model_len": max_len,
            "permission": [permission],
        }
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
        'python_info{implementation="CPython",major="3",minor="11",patchlevel="2",version="3.11.2"} 1.0',
    ]
    for kind, metric, more, value in (
        ("gauge", "num_requests_running", "", counters.running),
        ("gauge", "num_requests_waiting", "", 0),
        ("gauge", "kv_cache_usage_perc", "", min(1.0, counters.running * 0.01)),
        ("counter", "prompt_tokens_total", "", counters.prompt_tokens),
        ("counter", "generation_tokens_total", "", counters.generation_tokens),
        ("counter", "request_success_total", ',finished_reason="length"', counters.finished),
    ):
        lines += [f"# HELP vllm:{metric} Stand-in engine.", f"# TYPE vllm:{metric} {kind}"]
        lines.append(f"vllm:{metric}{{{labels}{more}}} {float(value)}")
    lines += ["# HELP vllm:cache_config_info Stand-in engine.", "# TYPE vllm:cache_config_info gauge"]
    lines.append(f'vllm:cache_config_info{{block_size="16",engine="0",{capacity}}} 1.0')
    return "\n".join(lines) + "\n"
