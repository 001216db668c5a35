# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of a shell text, as far as words go: quotes, escapes, comments, what separates commands.

Nothing is expanded: ``$MODEL`` stays as it is written.

Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..subject import Problem

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_SEPARATORS = frozenset(";&|\n()")
_DOLLAR = {"(": ")", "{": "}"}
_IN_DOUBLE = frozenset('"\\$`\n')
_REDIRECT = re.compile(r"\d*(?:&>>?|[<>]{1,3}&?-?)(.*)", re.DOTALL)
QUOTES = Problem(
    "quotes", "a quote is opened and never closed, so the words after it are not what they seem", "' or \""
)


@dataclass
class Command:
    """One simple command: the words, the assignments in front of it, and whether a shell leaves it in background."""

    words: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    background: bool = False


def split_words(text: str) -> tuple[list[str], list[Problem]]:
    """All words of a text, whatever separates its commands (for ``args`` that are written as one text)."""
    found, problems = read_shell(text, separators=frozenset("\n"))
    return [word for command in found for word in (*map("=".join, command.env.items()), *command.words)], problems


def read_shell(text: str, separators: frozenset[str] = _SEPARATORS) -> tuple[list[Command], list[Problem]]:
    """The commands of a text in their order, and what could not be read."""
    reader = _Reader(text, separators)
    reader.read()
    return [command for command in reader.commands if command.words or command.env], reader.problems


class _Reader:
    """The state of one reading."""

    def __init__(self, text: str, separators: frozenset[str]) -> None:
        self.text, self.at, self.separators = text, 0, separators
        self.commands = [Command()]
        self.word: list[str] | None = None
        self.quoted = False
        self.skip_word = False
        self.problems: list[Problem] = []

    def read(self) -> None:
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if letter in self.separators and not self._is_redirect(letter):
                self._end_command(letter)
            elif letter.isspace():
                self._end_word()
            elif letter == "#" and self.word is None:
                self._comment()
            else:
                self._put(letter)
        self._end_word()

    def _is_redirect(self, letter: str) -> bool:
        """``2>&1`` and ``&>log`` have an ampersand that ends nothing."""
        after = self.text[self.at : self.at + 1]
        before = self.word[-1] if self.word else ""
        return letter == "&" and (before in {"<", ">"} or after == ">")

    def _comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _put(self, letter: str) -> None:
        self.word = [] if self.word is None else self.word
        if letter == "\\":
            self._escape()
        elif letter == "'":
            self.quoted = True
            self.word.append(self._until("'"))
        elif letter == '"':
            self.quoted = True
            self._double()
        elif letter == "$" and self.text[self.at : self.at + 1] in _DOLLAR:
            self.word.append(letter + self._nested())
        else:
            self.word.append(letter)

    def _escape(self) -> None:
        after = self.text[self.at : self.at + 1]
        self.at += 1
        if after == "\r" and self.text[self.at : self.at + 1] == "\n":
            self.at, after = self.at + 1, "\n"
        word = self.word or []
        if after != "\n":
            word.append(after)
        self.word = word or None

    def _until(self, end: str) -> str:
        found = self.text.find(end, self.at)
        if found < 0:
            self._unbalanced()
            found = len(self.text)
        taken = self.text[self.at : found]
        self.at = found + 1
        return taken

    def _double(self) -> None:
        word = self.word if self.word is not None else []
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            if letter == '"':
                return
            after = self.text[self.at : self.at + 1]
            if letter == "\\" and after in _IN_DOUBLE:
                self.at += 1
                word.append("" if after == "\n" else after)
            elif letter == "$" and after in _DOLLAR:
                word.append(letter + self._nested())
            else:
                word.append(letter)
        self._unbalanced()

    def _nested(self) -> str:
        """``$(...)`` and ``${...}`` up to the bracket that closes it, as written."""
        opening = self.text[self.at]
        closing, depth, begin = _DOLLAR[opening], 0, self.at
        while self.at < len(self.text):
            letter = self.text[self.at]
            self.at += 1
            depth += (letter == opening) - (letter == closing)
            if depth == 0:
                return self.text[begin : self.at]
        self._unbalanced()
        return self.text[begin:]

    def _unbalanced(self) -> None:
        self.problems = [QUOTES]

    def _end_word(self) -> None:
        word, quoted = self.word, self.quoted
        self.word, self.quoted = None, False
        if word is None:
            return
        text, command = "".join(word), self.commands[-1]
        if self.skip_word:
            self.skip_word = False
            return
        redirect = None if quoted else _REDIRECT.fullmatch(text)
        assigned = None if command.words else _ASSIGNMENT.fullmatch(text)
        if redirect:
            self.skip_word = not redirect.group(1) and not text.endswith("-")
        elif assigned:
            command.env[assigned.group(1)] = assigned.group(2)
        else:
            command.words.append(text)

    def _end_command(self, letter: str) -> None:
        self._end_word()
        if letter == "&" and self.text[self.at : self.at + 1] != "&":
            self.commands[-1].background = self.text[self.at - 2 : self.at - 1] != "&"
        if self.commands[-1].words or self.commands[-1].env:
            self.commands.append(Command())
