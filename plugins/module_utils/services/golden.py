# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read golden prompts: what is asked in the gate, and what the answer has to be.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..health.golden_prompts import MOST_TOKENS, GoldenPrompt, prompt_from_dict
from ..patterns import bounded_pattern
from .problems import Complaints
from .schema import GOLDEN_KEYS, by_name
from .typed import read_typed

MOST_PROMPTS = 50
_JUDGES = ("contains", "pattern", "expect")


def read_golden(prompts: Sequence[Any], complaints: Complaints) -> tuple[GoldenPrompt, ...]:
    """Judge the prompts one by one; those that cannot be asked are left out, and complained of."""
    if len(prompts) > MOST_PROMPTS:
        complaints.say(
            "gate.golden_prompts", f"{len(prompts)} prompts", f"at most {MOST_PROMPTS}: a start waits for them"
        )
    read = [_read(value, f"gate.golden_prompts[{index}]", complaints) for index, value in enumerate(prompts)]
    return tuple(prompt for prompt in read if prompt is not None)


def _read(value: object, place: str, complaints: Complaints) -> GoldenPrompt | None:
    if not isinstance(value, Mapping):
        complaints.at(place, value, "a map with prompt (or messages) and what its answer has to be")
        return None
    before = len(complaints.found)
    raw = read_typed(value, by_name(GOLDEN_KEYS), complaints, prefix=f"{place}.")
    _judge(raw, place, complaints)
    return prompt_from_dict(raw) if len(complaints.found) == before else None


def _judge(raw: Mapping[str, Any], place: str, complaints: Complaints) -> None:
    if (raw["prompt"] is None) == (not raw["messages"]):
        complaints.say(place, "both or neither of prompt and messages", "one of them")
    for index, message in enumerate(raw["messages"]):
        if not _is_message(message):
            complaints.at(f"{place}.messages[{index}]", message, "a map of role and content, both texts")
    if all(raw[name] is None for name in _JUDGES):
        complaints.say(place, f"none of {', '.join(_JUDGES)}", "one of them at least: what the answer has to be")
    if not 1 <= raw["max_tokens"] <= MOST_TOKENS:
        complaints.at(f"{place}.max_tokens", raw["max_tokens"], f"1 to {MOST_TOKENS}")
    if not 0 < raw["share"] <= 1:
        complaints.at(f"{place}.share", raw["share"], "above 0 and at most 1")
    _judge_pattern(raw["pattern"], f"{place}.pattern", complaints)


def _judge_pattern(pattern: str | None, place: str, complaints: Complaints) -> None:
    try:
        bounded_pattern(pattern or "")
    except ValueError as error:
        complaints.at(place, pattern, str(error))


def _is_message(message: object) -> bool:
    if not isinstance(message, Mapping) or set(message) != {"role", "content"}:
        return False
    return all(isinstance(each, str) for each in message.values())
