# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read the words after ``vllm serve`` as a release reads them: argparse with what vLLM's parser does before it.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..versions import Version
from . import options as known
from .command_line import AMBIGUOUS, UNKNOWN, CommandLine, Given, LineFault
from .option_names import Found, find_long, find_short
from .options import option

_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_NONE = frozenset({known.FLAG, known.SWITCH})
_MODEL = "--model"
_LEVEL = "optimization-level"  # what -O means where it exists; before, it was a key of the compilation
_SHORT_LEVEL = re.compile(r"-O(?:=?[^.=].*|=)?", re.DOTALL)
_KEY_SINCE, _MODE_SINCE = Version(0, 9, 2), Version(0, 11, 1)
_LEVELS = frozenset("0123")


def read_command_line(words: Sequence[str], version: Version) -> CommandLine:
    """Read all words; nothing raises: what the release would refuse is in ``faults`` and in the options' ``how``."""
    reader = _Reader([str(word) for word in words], version)
    reader.read()
    positional = reader.free[0] if reader.free else None
    model = next((given.values[0] for given in reader.given if given.name == _MODEL and given.values), positional)
    extras = tuple(reader.free[1:])
    stray = (word for word in extras if not word.startswith("$"))  # a variable may hold options, or nothing
    faults = [*reader.faults, *(LineFault(word, "no option takes this word") for word in stray)]
    return CommandLine(model, positional is not None, tuple(reader.given), extras, tuple(faults))


def is_option(word: str) -> bool:
    """Whether argparse takes a word for an option: a dash, but no number, no text with a space, no dash alone."""
    return word.startswith("-") and len(word) > 1 and not _NUMBER.fullmatch(word) and " " not in word.split("=", 1)[0]


class _Reader:
    """The state of one reading: what is left, and what was found."""

    def __init__(self, words: list[str], version: Version) -> None:
        self.words, self.at, self.version = words, 0, version
        self.given: list[Given] = []
        self.free: list[str] = []
        self.faults: list[LineFault] = []

    def read(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            self.at += 1
            if word == "--":
                self.free += self.words[self.at :]
                return
            if is_option(word):
                self._option(word)
            else:
                self.free.append(word)

    def _option(self, word: str) -> None:
        key, equals, joined = self._level(word) if _SHORT_LEVEL.fullmatch(word) else word.partition("=")
        head, _dot, rest = key.partition(".")
        found = find_long(head.replace("_", "-"), self.version) if key.startswith("--") else None
        found = found or find_short(head, self.version)
        path = tuple(rest.split(".")) if rest else ()
        values = (joined,) if equals else self._following(found, path)
        self._judge(key, found, path, values, bool(equals))
        self.given.append(
            Given(found.name, key, values, found.negated, path, found.how, found.taken_for, found.candidates)
        )

    def _level(self, word: str) -> tuple[str, str, str]:
        """``-O3``, ``-O=3``, ``-O 3``: what vLLM makes of them before argparse sees them."""
        level = word[3:] if word.startswith("-O=") else word[2:]
        if option(_LEVEL, self.version).present:
            key = f"--{_LEVEL}"
        elif self.version < _KEY_SINCE or not (level or set(self.words[self.at : self.at + 1]) & _LEVELS):
            key = "-O"
        else:
            key = "-O.mode" if self.version >= _MODE_SINCE else "-O.level"
        return key, "=" if len(word) > len("-O") else "", level

    def _following(self, found: Found, path: tuple[str, ...]) -> tuple[str, ...]:
        """The words that belong to an option without ``=``."""
        if path:
            return self._take(1)
        if found.negated or found.kind in _NONE or found.how == AMBIGUOUS:
            return ()
        return self._take(None if found.kind == known.LIST else 1)

    def _take(self, most: int | None) -> tuple[str, ...]:
        begin = self.at
        while self.at < len(self.words) and (most is None or self.at - begin < most):
            if is_option(self.words[self.at]) or self.words[self.at] == "--":
                break
            self.at += 1
        return tuple(self.words[begin : self.at])

    def _judge(self, key: str, found: Found, path: tuple[str, ...], values: tuple[str, ...], joined: bool) -> None:
        """Values that argparse misses or does not take; of names that the release does not have nothing is known."""
        if found.how in {UNKNOWN, AMBIGUOUS}:
            return
        bare = (found.negated or found.kind in _NONE) and not path
        if bare and joined:
            self.faults.append(LineFault(key, "the option takes no value"))
        elif not bare and not values and found.kind not in {known.FLAG_VALUE, known.UNKNOWN}:
            self.faults.append(LineFault(key, "the option wants a value, and none follows"))
