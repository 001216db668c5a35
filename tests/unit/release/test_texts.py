# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Logs that are bounded and hold no secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.bounded import HeadTail
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.redact import Redactor

LINES = st.lists(st.text(alphabet="abc ", max_size=12), max_size=60)


@given(lines=LINES)
def test_a_short_log_is_kept_whole(lines):
    head = []
    kept = HeadTail(head.append, 1000, 1000)
    for line in lines:
        kept.add(line)
    assert (head, kept.tail(), kept.left_out, kept.lines) == (lines, [], 0, len(lines))


@given(lines=LINES, sizes=st.tuples(st.integers(1, 60), st.integers(1, 60)))
def test_a_long_log_keeps_its_beginning_and_its_end(lines, sizes):
    head = []
    kept = HeadTail(head.append, *sizes)
    for line in lines:
        kept.add(line)
    tail = kept.tail()
    assert all(sum(len(line) + 1 for line in part) <= size for part, size in zip((head, tail), sizes))
    assert lines[: len(head)] == head
    assert len(head) + kept.left_out + len(tail) == len(lines) == kept.lines
    assert not tail or lines[-1][: sizes[1] - 1] == tail[-1]
    assert not tail[1:] or lines[-len(tail) + 1 :][:-1] == tail[1:-1]


def test_the_size_of_a_line_is_that_of_its_bytes():
    head = []
    kept = HeadTail(head.append, 5, 5)
    for line in ("\u00fc\u00fc", "\u00fc\u00fc\u00fc"):
        kept.add(line)
    assert (head, kept.tail()) == (["\u00fc\u00fc"], ["\u00fc\u00fc"])


@pytest.mark.parametrize(
    "printed",
    ["s3cr3t w0rd", "a=s3cr3t w0rd;", '{"k": "s3cr3t w0rd"}', "GET /?k=s3cr3t%20w0rd", "s3cr3t w0rds3cr3t w0rd"],
)
def test_a_secret_is_taken_out_of_every_spelling(printed):
    said = Redactor({"KEY": "s3cr3t w0rd"}).line(printed)
    assert "s3cr3t" not in said and "[secret KEY]" in said


def test_escaped_and_many_line_secrets():
    redactor = Redactor({"PEM": "-----BEGIN\nabcdefgh\n-----END", "Q": 'quo"te\\d'})
    assert redactor.line("line abcdefgh") == "line [secret PEM]"
    assert "abcdefgh" not in redactor.line('"-----BEGIN\\nabcdefgh\\n-----END"')
    assert redactor.line('{"v": "quo\\"te\\\\d"}') == '{"v": "[secret Q]"}'


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ("s3cr3t w0rd", "Basic czNjcjN0IHcwcmQ="),
        ("a?>~ bcd", "YT8-fiBiY2Q"),
        ("s3cr3t w0rd", "key=s3cr3t+w0rd"),
        ("s3cr3t/w0rd", "https://x/s3cr3t/w0rd"),
        ("geheim-ä€", '{"k": "geheim-ä€"}'),
        ("geheim-ä€", '{"k": "geheim-\\u00e4\\u20ac"}'),
        ("it's s3cr3t", "'it'\"'\"'s s3cr3t'"),
    ],
)
def test_a_secret_is_known_as_programs_write_it(value, printed):
    redactor = Redactor({"KEY": value})
    assert "[secret KEY]" in redactor.line(printed)
    assert redactor.met == {"KEY"}


def test_a_log_without_secrets_has_met_none():
    redactor = Redactor({"KEY": "s3cr3t w0rd"})
    assert redactor.line("nothing of the kind") == "nothing of the kind"
    assert redactor.met == set()


def test_the_longer_secret_wins_and_words_too_short_to_hide_stay():
    redactor = Redactor({"SHORT": "abcd", "LONG": "abcdefgh", "TINY": "on"})
    assert redactor.line("abcdefgh abcd turned on") == "[secret LONG] [secret SHORT] turned on"
