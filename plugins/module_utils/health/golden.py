# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge the answers to golden prompts: garbage and a wrong answer are errors, another answer than before a warning.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..findings import ERROR, INFO, WARNING, Finding
from .answer import short
from .golden_answers import GoldenAnswer, GoldenReply
from .golden_kept import GoldenReference, kept
from .golden_prompts import GoldenPrompt
from .tokens import longest_run, share_of_equal, words

MOST_IN_A_ROW = 20
# What a decoder puts where bytes are no character, and how many of them a character that was cut off can leave.
_REPLACED = "\ufffd"
_LEFT_OF_ONE = 3
_SHOWN = 120


def judge_golden(
    service: str, replies: Sequence[GoldenReply], reference: GoldenReference | None = None
) -> list[Finding]:
    """One finding a prompt, or two where the answer differs from what was expected and from what was given before."""
    return [found for number, reply in enumerate(replies, 1) for found in _judge(service, number, reply, reference)]


def _judge(service: str, number: int, reply: GoldenReply, reference: GoldenReference | None) -> Iterator[Finding]:
    prompt, answer = reply.prompt, reply.answer
    title = f'golden prompt {number} "{prompt.name}"'
    shown = short(answer.text, _SHOWN)

    def finding(name: str, severity: str, message: str, **more: Any) -> Finding:
        more.setdefault("observed", shown)
        return Finding(f"golden_prompt_{name}", severity, service, f"{title}: {message}", source="verification", **more)

    if answer.problem is not None:
        yield finding("failed", ERROR, f"{prompt.route}: {answer.problem}", observed=answer.problem)
        return
    garbage = next(_garbage(prompt, answer), None)
    if garbage:
        remedy = "the engine computes wrongly: see its log, the attention backend, the quantization and the driver"
        yield finding("garbage", ERROR, garbage, expected="text that means something", remedy=remedy)
        return
    missed = list(_missed(reply))
    if missed:
        wanted = {name: value for name, value in prompt.to_dict().items() if name in ("contains", "pattern")}
        remedy = "see the answer; where it is right too, correct the prompt in gate.golden_prompts"
        remedy += ", or give it more max_tokens" if answer.cut else ""
        yield finding("missed", ERROR, "; ".join(missed), expected=wanted, remedy=remedy)
        return
    other = [each for each in (_unlike(prompt, answer), _changed(prompt, answer, reference)) if each]
    for name, message, expected in other:
        yield finding(name, WARNING, message, expected=expected, remedy="compare the two answers")
    if not other:
        yield finding("holds", INFO, f'answers "{shown}"')


def _garbage(prompt: GoldenPrompt, answer: GoldenAnswer) -> Iterator[str]:
    """Why it is no text of a model that works."""
    if answer.not_utf8:
        yield answer.not_utf8
    text = answer.thought + answer.said
    if not text.strip():
        yield "the answer is empty"
    if _REPLACED in _without_cut(text, answer) and _REPLACED not in str(prompt.to_dict()):
        yield "its tokens are not valid UTF-8: U+FFFD stands where a character could not be read"
    most = longest_run(answer.tokens)
    if most > MOST_IN_A_ROW:
        yield f"the same token comes {most} times in a row, at most {MOST_IN_A_ROW} are allowed"


def _without_cut(text: str, answer: GoldenAnswer) -> str:
    """The text without what is left of a last character whose tokens did not all come: the limit was reached."""
    left = len(text) - len(text.rstrip(_REPLACED))
    return text[: len(text) - left] if answer.cut and left <= _LEFT_OF_ONE and left < len(text) else text


def _missed(reply: GoldenReply) -> Iterator[str]:
    prompt = reply.prompt
    if prompt.contains is not None and prompt.contains not in reply.answer.text:
        yield f'the answer does not contain "{short(prompt.contains, _SHOWN)}"'
    if prompt.pattern is not None and reply.pattern_fault:
        yield f"the pattern {short(prompt.pattern, _SHOWN)} {reply.pattern_fault}"


def _unlike(prompt: GoldenPrompt, answer: GoldenAnswer) -> tuple[str, str, Any] | None:
    """Where fewer tokens than asked for are those of the reference answer."""
    if prompt.expect is None:
        return None
    share = share_of_equal(words(prompt.expect), words(answer.text))
    if share >= prompt.share:
        return None
    message = f"{share:.0%} of the tokens are those of the expected answer, at least {prompt.share:.0%} are wanted"
    return "differs", message, short(prompt.expect, _SHOWN)


def _changed(
    prompt: GoldenPrompt, answer: GoldenAnswer, reference: GoldenReference | None
) -> tuple[str, str, Any] | None:
    """Where another release answered otherwise; the same release may differ a little, by what else it computes."""
    before = reference.answers.get(prompt.key) if reference else None
    if reference is None or before is None:
        return None
    share = share_of_equal(*kept(answer).beside(before))
    if share >= (prompt.share if reference.same else 1.0):
        return None
    whose = f"{reference.release} at its gate" if reference.same else reference.release
    message = f"{share:.0%} of the tokens are those that {whose} answered"
    return "changed", message, short(before.text, _SHOWN)
