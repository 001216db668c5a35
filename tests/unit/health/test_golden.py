# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Golden prompts: what an answer must be, what is garbage, and what only is told in other words."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.answer import Answer
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.golden import judge_golden
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.golden_answers import GoldenReply, read_golden
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.golden_kept import GoldenReference, kept
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.golden_prompts import GoldenPrompt


def answered(text, finish="stop", ids=()):
    choice = {"text": text, "finish_reason": finish, **({"token_ids": list(ids)} if ids else {})}
    return read_golden(Answer(200, json.dumps({"choices": [choice]}).encode(), 0.1))


def judged(prompt, answer, reference=None, pattern_fault=None):
    found = judge_golden("chat", [GoldenReply(prompt, answer, pattern_fault)], reference)
    return [f"{each.id.replace('golden_prompt_', '')} {each.severity}" for each in found]


WORDS = GoldenPrompt("a b c", expect="one two three four five")
NO_TEXT = b'{"choices": [{"text": "Paris \xff\xfe"}]}'
PARIS = GoldenPrompt("The capital of France is", contains="Paris")


@pytest.mark.parametrize(
    ("prompt", "answer", "finding"),
    [
        (PARIS, answered(" Paris."), "holds info"),
        (PARIS, answered(" Lyon."), "missed error"),
        (PARIS, answered(""), "garbage error"),
        (PARIS, answered(" Paris" + " the" * 21), "garbage error"),
        (PARIS, answered(" Paris" + " the" * 20), "holds info"),
        (PARIS, answered("Paris", ids=[7] * 21), "garbage error"),
        (PARIS, answered(" Pa\ufffdris Paris"), "garbage error"),
        # the last character was cut off by the limit of tokens
        (PARIS, answered(" Paris \ufffd", finish="length"), "holds info"),
        (PARIS, read_golden(Answer(200, NO_TEXT, 0.1)), "garbage error"),
        (PARIS, read_golden(Answer(500, b"", 0.1)), "failed error"),
        (PARIS, read_golden(Answer(200, b"no json", 0.1)), "failed error"),
        (WORDS, answered("one two three four six"), "holds info"),
        (WORDS, answered("six seven"), "differs warning"),
    ],
)  # fmt: skip
def test_one_answer(prompt, answer, finding):
    assert judged(prompt, answer) == [finding]


def test_a_pattern_that_was_not_found():
    prompt = GoldenPrompt("Count", pattern="1.*2")
    assert judged(prompt, answered("one two"), pattern_fault="is not in it") == ["missed error"]


def test_another_release_in_other_words_is_a_warning():
    said = answered(" Paris, of course, as everybody knows.")
    before = GoldenReference("rel-a", answers={PARIS.key: kept(said)})
    assert judged(PARIS, answered(" Paris. Next question please, dear friend."), before) == ["changed warning"]
    assert judged(PARIS, said, before) == ["holds info"]


@given(st.binary(max_size=300), st.sampled_from([200, 404, 500]))
def test_whatever_bytes_come_it_is_judged(body, status):
    (found,) = judged(PARIS, read_golden(Answer(status, body, 0.1)))
    assert found.endswith(" error")


@given(st.text(max_size=200))
def test_whatever_text_comes_it_is_judged(text):
    assert len(judged(PARIS, answered(text))) == 1
