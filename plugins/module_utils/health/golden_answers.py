# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read what a server answered to a golden prompt, whatever its bytes are.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .answer import Answer, outcome
from .golden_prompts import GoldenPrompt
from .tokens import words

MOST_TEXT = 4096
_MOST_IDS = 4096
_THOUGHTS = ("reasoning", "reasoning_content")
# Halves of characters: JSON can hold them, no text can.
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class GoldenAnswer:
    """What came back: ``problem`` says why it is no answer, ``not_utf8`` where its bytes are no text.

    ``said`` is the answer, ``thought`` what a reasoning model wrote before it. ``ids`` are the ids of all tokens, none
    where the server does not give them.
    """

    said: str = ""
    thought: str = ""
    ids: tuple[int, ...] = ()
    finish_reason: str | None = None
    problem: str | None = None
    not_utf8: str | None = None

    @property
    def text(self) -> str:
        """The answer, or what was thought where it did not come to an answer."""
        return self.said or self.thought

    @property
    def tokens(self) -> tuple[Hashable, ...]:
        """The tokens as far as they are known."""
        return self.ids or words(self.thought + self.said)

    @property
    def cut(self) -> bool:
        """Whether it ended because the tokens that were asked for were used up."""
        return self.finish_reason == "length"


@dataclass(frozen=True)
class GoldenReply:
    """One prompt with its answer; ``pattern_fault`` says what is wrong where its pattern was not found in it."""

    prompt: GoldenPrompt
    answer: GoldenAnswer
    pattern_fault: str | None = None


def read_golden(answer: Answer) -> GoldenAnswer:
    """Read one answer in one piece; never raises."""
    if not answer.ok:
        return GoldenAnswer(problem=outcome(answer))
    try:
        body = answer.body.decode("utf-8")
    except UnicodeDecodeError as error:
        shown = " ".join(f"{byte:02x}" for byte in answer.body[error.start : error.start + 4])
        return GoldenAnswer(not_utf8=f"its bytes are not UTF-8 ({shown} at byte {error.start})")
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return GoldenAnswer(problem="answered 200, but not with JSON")
    choice = _first(data.get("choices")) if isinstance(data, dict) else None
    if choice is None:
        return GoldenAnswer(problem="answered 200, but not with a completion")
    return _of(choice)


def _of(choice: Mapping[str, Any]) -> GoldenAnswer:
    message = choice.get("message")
    source = message if isinstance(message, dict) else choice
    said = _text(choice.get("text")) or _text(source.get("content"))
    thought = next((_text(source.get(name)) for name in _THOUGHTS if source.get(name)), "")
    half = _SURROGATE.search(said + thought)
    finish = choice.get("finish_reason")
    return GoldenAnswer(
        said=_SURROGATE.sub("\ufffd", said),
        thought=_SURROGATE.sub("\ufffd", thought),
        ids=_ids(choice.get("token_ids")),
        finish_reason=finish if isinstance(finish, str) else None,
        not_utf8="it holds a half of a character, which no text can hold" if half else None,
    )


def _first(choices: object) -> Mapping[str, Any] | None:
    first = choices[0] if isinstance(choices, list) and choices else None
    return first if isinstance(first, dict) else None


def _text(value: object) -> str:
    return value[: 16 * MOST_TEXT] if isinstance(value, str) else ""


def _ids(values: object) -> tuple[int, ...]:
    """The ids, when they all are numbers."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        return ()
    whole = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
    return tuple(values[:_MOST_IDS]) if whole else ()
