# SPDX-License-Identifier: Apache-2.0
"""How the stand-in engine refuses a request: vLLM's statuses and bodies (0.31.0 and 0.32.0, compared by a test)."""

from __future__ import annotations

import json
from typing import Any

from .answers import prompts_of, tokens_in

Refusal = tuple[int, dict[str, Any]]
_MODEL_GONE = 404
_WRONG = 400


def error(message: str, kind: str, code: int, param: str | None = None) -> dict[str, Any]:
    """An error body of the OpenAI routes."""
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def dead_engine() -> dict[str, Any]:
    """The body of a request that the engine's death ends."""
    message = "EngineCore encountered an issue. See stack trace (above) for the root cause."
    return error(message, "InternalServerError", 500)


def _invalid(kind: str, place: str, message: str, given: str) -> Refusal:
    text = f"{{'type': '{kind}', 'loc': '{place}', 'msg': '{message}', 'input': '{given}'}}"
    return _WRONG, error(f"1 validation error:\n  {text}", "Bad Request", _WRONG, place)


def _bad(message: str, param: str) -> Refusal:
    return _WRONG, error(message, "BadRequestError", _WRONG, param)


def read_body(raw: bytes) -> tuple[dict[str, Any], Refusal | None]:
    """The map that a request holds, or why it is none."""
    try:
        body = json.loads(raw or b"null")
    except ValueError as problem:
        place = getattr(problem, "pos", 0)
        return {}, _invalid("json_invalid", f"body.{place}", "JSON decode error", "<dict of 0 items>")
    if body is None:
        return {}, _invalid("missing", "body", "Field required", "None")
    if not isinstance(body, dict):
        message = "Input should be a valid dictionary or object to extract fields from"
        return {}, _invalid("model_attributes_type", "body", message, f"<{type(body).__name__}>")
    return body, None


def judge(path: str, body: dict[str, Any], names: list[str], max_len: int) -> Refusal | None:
    """Why a request is refused, in the order in which vLLM finds out; None when it is served."""
    chat = path == "/v1/chat/completions"
    if chat and not isinstance(body.get("messages"), list):
        return _invalid("missing", "body.messages", "Field required", f"<dict of {len(body)} items>")
    limit = body.get("max_tokens")
    if limit is not None and not isinstance(limit, int):
        message = "Input should be a valid integer, unable to parse string as an integer"
        return _invalid("int_parsing", "body.max_tokens", message, str(limit))
    if path == "/v1/completions" and not body.get("prompt"):
        return _bad("Either prompt or prompt_embeds must be provided and non-empty. (parameter=prompt)", "prompt")
    if body.get("model") is not None and body["model"] not in names:
        aliases = ", ".join(names)
        message = f"The model `{body['model']}` does not exist. Valid aliases: {aliases}."
        return _MODEL_GONE, error(message, "NotFoundError", _MODEL_GONE, "model")
    return _too_much(body, limit, max_len) if path in ("/v1/completions", "/v1/chat/completions") else None


def _too_much(body: dict[str, Any], limit: int | None, max_len: int) -> Refusal | None:
    longest = max(tokens_in(prompt) for prompt in prompts_of(body))
    if longest > max_len:
        message = f"This model's maximum context length is {max_len} tokens. However, your prompt contains at least"
        message += f" {max_len + 1} input tokens. (parameter=input_tokens, value={max_len + 1})"
        return _bad(message, "input_tokens")
    if limit is not None and limit > max_len:
        message = f"max_tokens={limit} cannot be greater than max_model_len={max_len}."
        return _bad(f"{message} Please request fewer output tokens.", "max_tokens")
    if limit is not None and limit < 1:
        return _bad(f"max_tokens must be at least 1, got {limit}. (parameter=max_tokens, value={limit})", "max_tokens")
    heat = body.get("temperature")
    if heat is not None and heat < 0:
        message = f"temperature must be non-negative, got {heat}. (parameter=temperature, value={heat})"
        return _bad(message, "temperature")
    return None
