# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Prompts with known answers: what is asked at temperature 0, and what the answer must be.

Private to the collection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .answer import short

MAX_TOKENS, MOST_TOKENS = 32, 256
SHARE = 0.8
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
_SHOWN = 40
_KEY_DIGITS = 16


@dataclass(frozen=True)
class GoldenPrompt:
    """One prompt; ``messages`` (pairs of role and content) are asked as a chat, ``prompt`` as a completion."""

    prompt: str | None = None
    messages: tuple[tuple[str, str], ...] = ()
    max_tokens: int = MAX_TOKENS
    contains: str | None = None
    pattern: str | None = None
    expect: str | None = None
    share: float = SHARE

    @property
    def route(self) -> str:
        """Where it is asked."""
        return COMPLETIONS if self.prompt is not None else CHAT

    @property
    def ask(self) -> dict[str, Any]:
        """The request without the name of the model; ids of tokens are given since 0.10.2, and ignored before."""
        what: dict[str, Any] = (
            {"prompt": self.prompt}
            if self.prompt is not None
            else {"messages": [{"role": role, "content": content} for role, content in self.messages]}
        )
        return {**what, "max_tokens": self.max_tokens, "temperature": 0, "return_token_ids": True}

    @property
    def key(self) -> str:
        """The same for the same question: by it the answers of two releases are put side by side."""
        text = json.dumps(self.ask, sort_keys=True).encode("utf-8")
        return hashlib.sha256(text).hexdigest()[:_KEY_DIGITS]

    @property
    def name(self) -> str:
        """Its beginning, by which people know it."""
        text = self.prompt if self.prompt is not None else next((said for _role, said in reversed(self.messages)), "")
        return short(text, _SHOWN)

    def to_dict(self) -> dict[str, Any]:
        """The prompt as plain data; what is not set is left out."""
        fields: dict[str, Any] = {
            "prompt": self.prompt,
            "messages": [{"role": role, "content": content} for role, content in self.messages] or None,
            "max_tokens": self.max_tokens,
            "contains": self.contains,
            "pattern": self.pattern,
            "expect": self.expect,
            "share": self.share,
        }
        return {name: value for name, value in fields.items() if value is not None}


def prompt_from_dict(data: Mapping[str, Any]) -> GoldenPrompt:
    """Read a prompt back that was judged before it was written; ValueError when it is none."""
    try:
        messages = tuple((str(each["role"]), str(each["content"])) for each in data.get("messages") or ())
        found = GoldenPrompt(
            prompt=_text(data.get("prompt")),
            messages=messages,
            max_tokens=int(data.get("max_tokens", MAX_TOKENS)),
            contains=_text(data.get("contains")),
            pattern=_text(data.get("pattern")),
            expect=_text(data.get("expect")),
            share=float(data.get("share", SHARE)),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a golden prompt: {error}") from error
    if found.prompt is None and not messages:
        raise ValueError("not a golden prompt: it has neither a prompt nor messages")
    return found


def _text(value: object) -> str | None:
    return None if value is None else str(value)
