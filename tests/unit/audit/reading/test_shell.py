# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A shell text, split into commands and words as a shell splits it, with nothing expanded."""

from __future__ import annotations

import random
import shlex

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.reading.shell import (
    QUOTES,
    Command,
    read_shell,
    split_words,
)


def commands(text: str) -> list[Command]:
    """The commands of a text that has no fault."""
    found, problems = read_shell(text)
    assert problems == []
    return found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("vllm serve m", ["vllm", "serve", "m"]),
        ("  a\t b  ", ["a", "b"]),
        ("a 'b c' \"d e\"", ["a", "b c", "d e"]),
        ("a b' 'c\" \"d", ["a", "b c d"]),
        (r"a b\ c \'", ["a", "b c", "'"]),
        ("a '' \"\"", ["a", "", ""]),
        (r"""a '{"x": "\n"}'""", ["a", '{"x": "\\n"}']),
        (r'a "{\"x\": 1}"', ["a", '{"x": 1}']),
        (r'a "\n \$HOME \\ \`"', ["a", r"\n $HOME \ `"]),
        ("a \\\n  b", ["a", "b"]),
        ("a \\\r\n  b", ["a", "b"]),
        ("a\\\nb", ["ab"]),
        ("a # b c", ["a"]),
        ("a b#c '#d'", ["a", "b#c", "#d"]),
        ("a $(nproc --all) ${X:-1 2}", ["a", "$(nproc --all)", "${X:-1 2}"]),
        ('a "$(cat "f g") h" i', ["a", '$(cat "f g") h', "i"]),
        ("a >log 2>&1", ["a"]),
        ("a > log 2> err b", ["a", "b"]),
        ("a &>log", ["a"]),
        ("a >>log <in b", ["a", "b"]),
        ("a '>log' 'x=1'", ["a", ">log", "x=1"]),
        ("a --x=y=z", ["a", "--x=y=z"]),
    ],
)
def test_the_words_of_one_command(text: str, words: list[str]) -> None:
    (command,) = commands(text)
    assert command.words == words


@pytest.mark.parametrize("separator", [";", "&&", "||", "|", "\n", "; ", " & ", ";;\n\n", "\r\n"])
def test_what_separates_commands(separator: str) -> None:
    assert [command.words for command in commands(f"a b{separator}c d")] == [["a", "b"], ["c", "d"]]


def test_assignments_in_front_are_no_words() -> None:
    assert commands("X=1 Y='a b' vllm serve Z=3") == [Command(["vllm", "serve", "Z=3"], {"X": "1", "Y": "a b"})]
    assert commands("X=1\nexport Y=2") == [Command([], {"X": "1"}), Command(["export", "Y=2"])]


def test_an_ampersand_alone_is_the_background() -> None:
    found = commands("nohup a > log 2>&1 &\nb && c")
    assert [(command.words, command.background) for command in found] == [
        (["nohup", "a"], True),
        (["b"], False),
        (["c"], False),
    ]


def test_subshells_are_commands() -> None:
    assert [command.words for command in commands("(cd /x && a) | b")] == [["cd", "/x"], ["a"], ["b"]]


@pytest.mark.parametrize("text", ["a 'b", 'a "b', "a $(b", "a ${b", 'a "$(b"'])
def test_what_is_never_closed_is_a_problem(text: str) -> None:
    found, problems = read_shell(text)
    assert problems == [QUOTES]
    assert found[0].words[0] == "a"


def test_the_words_of_one_text_are_not_separated() -> None:
    assert split_words("--a 'b;c' X=1 d&e;f --port 80") == (["--a", "b;c", "X=1", "d&e;f", "--port", "80"], [])
    assert split_words("X=1 --a\n--b") == (["X=1", "--a", "--b"], [])
    assert split_words("") == ([], [])


def test_plain_text_is_split_as_the_library_does_it() -> None:
    chance = random.Random(5)
    for _round in range(300):
        words = ["".join(chance.choices("ab -_'\"\\${}=#", k=chance.randint(1, 8))) for _word in range(5)]
        text = " ".join(shlex.quote(word) for word in ["x", *words])
        assert commands(text) == [Command(["x", *words])]


def test_rubbish_never_raises() -> None:
    chance = random.Random(7)
    for _round in range(500):
        text = "".join(chance.choices("a'\"\\$(){}`&|;<>#=\n\r\t \x00é", k=chance.randint(0, 40)))
        found, _problems = read_shell(text)
        assert all(isinstance(word, str) for command in found for word in command.words)
        split_words(text)
