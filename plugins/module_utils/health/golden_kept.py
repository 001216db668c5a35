# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The answers to golden prompts as they are kept with a start, so that the next release can be put beside them.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

from .golden_answers import GoldenAnswer, GoldenReply
from .tokens import words

SCHEMA = 1
MOST_TEXT = 2000
MOST_IDS = 512


@dataclass(frozen=True)
class KeptAnswer:
    """One answer, cut to what is kept of it."""

    text: str
    ids: tuple[int, ...] = ()

    def beside(self, other: KeptAnswer) -> tuple[Sequence[Hashable], Sequence[Hashable]]:
        """The tokens of both: the ids where both have them, else the words."""
        return (self.ids, other.ids) if self.ids and other.ids else (words(self.text), words(other.text))


@dataclass(frozen=True)
class GoldenReference:
    """What a release answered at its gate, by the key of the prompt; ``same`` where it is this very release."""

    release: str
    same: bool = False
    answers: Mapping[str, KeptAnswer] = field(default_factory=dict)


def kept(answer: GoldenAnswer) -> KeptAnswer:
    """What is kept of an answer."""
    return KeptAnswer((answer.thought + answer.said)[:MOST_TEXT], answer.ids[:MOST_IDS])


def to_keep(
    release: str, model: Mapping[str, Any], replies: Sequence[GoldenReply], clean: Callable[[str], str]
) -> dict[str, Any]:
    """The file of a start; ``clean`` takes secrets out of a text, and what held one keeps no ids, either."""
    answers = [_to_keep(reply, clean) for reply in replies if reply.answer.problem is None]
    return {"schema": SCHEMA, "release": release, "model": dict(model), "answers": answers}


def _to_keep(reply: GoldenReply, clean: Callable[[str], str]) -> dict[str, Any]:
    answer = kept(reply.answer)
    whole = reply.answer.thought + reply.answer.said
    text, prompt = clean(whole), clean(reply.prompt.name)
    ids = answer.ids if text == whole else ()
    found = {"key": reply.prompt.key, "prompt": prompt, "text": text[:MOST_TEXT], "ids": list(ids)}
    return {**found, "finish_reason": reply.answer.finish_reason}


def reference_from_dict(data: object, release: str, model: object) -> GoldenReference | None:
    """Read the file of a start back to put ``release`` beside it; None where it cannot be compared: another model."""
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or data.get("model") != model:
        return None
    answers = data.get("answers")
    pairs = [_pair(each) for each in answers if isinstance(each, dict)] if isinstance(answers, list) else []
    found = str(data.get("release") or "")
    return GoldenReference(found, found == release, {key: answer for key, answer in pairs if key})


def _pair(data: Mapping[str, Any]) -> tuple[str, KeptAnswer]:
    ids = data.get("ids")
    whole = isinstance(ids, list) and all(isinstance(each, int) for each in ids)
    return str(data.get("key") or ""), KeptAnswer(str(data.get("text") or ""), tuple(ids or ()) if whole else ())
