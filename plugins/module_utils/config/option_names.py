# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which option a word on the command line stands for in a release: its name, another name, the beginning of one.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from ..versions import Version
from ._options import OPTIONS
from .command_line import ALIAS, AMBIGUOUS, EXACT, PREFIX
from .command_line import UNKNOWN as UNKNOWN_NAME
from .options import FLAG, UNKNOWN, option
from .releases import within

_NO = "--no-"
_OTHER_WAY = {"--enable-": "--disable-", "--disable-": "--enable-"}  # vllm/utils/argparse_utils.py, EnableDisableAction
_OTHER_WAY_SINCE = Version(0, 33, 0)


@dataclass(frozen=True)
class Found:
    """The option that a word stands for; ``kind`` is how it takes its value."""

    name: str
    kind: str
    how: str
    negated: bool = False
    taken_for: str | None = None
    candidates: tuple[str, ...] = ()


class _Names:
    """All words that a release knows as options: the word, and the option and whether it is its negation."""

    def __init__(self, version: Version) -> None:
        self.words: dict[str, tuple[str, bool]] = {}
        self._pairs = version >= _OTHER_WAY_SINCE
        for name, rows in OPTIONS.items():
            for kind, since, until, also in rows:
                if within(since, until, version):
                    self._add(f"--{name}", f"--{name}", kind)
                    for other in also:
                        self._add(other, f"--{name}", kind)

    def _add(self, word: str, name: str, kind: str) -> None:
        self.words.setdefault(word, (name, False))
        if kind == FLAG and word.startswith("--"):
            self.words.setdefault(_NO + word[2:], (name, True))
            for begin, other in _OTHER_WAY.items() if self._pairs else ():
                if word.startswith(begin):
                    self.words.setdefault(other + word[len(begin) :], (name, True))

    def beginning(self, word: str) -> dict[str, tuple[str, bool]]:
        """The words that begin so."""
        return {each: meant for each, meant in self.words.items() if each.startswith(word)}


_CACHE: dict[Version, _Names] = {}


def _names(version: Version) -> _Names:
    if version not in _CACHE:
        _CACHE.clear()  # an audit asks for one or two releases; a controller asks for many, one after the other
        _CACHE[version] = _Names(version)
    return _CACHE[version]


@lru_cache(maxsize=1024)
def find_long(word: str, version: Version) -> Found:
    """Look up ``--max-model-len``, ``--no-enable-prefix-caching``, ``--max-model-le``; dashes, no value, no dots."""
    names = _names(version)
    if word in names.words:
        name, negated = names.words[word]
        plain = word in {name, _NO + name[2:]}
        return Found(name, _kind(name, version), EXACT if plain else ALIAS, negated)
    begun = names.beginning(word)
    other = _of_other_releases(word)
    if other is not None:
        name, negated = other
        taken = next(iter(begun.values()))[0] if len(begun) == 1 else None
        return Found(name, _kind(name, version), EXACT, negated, taken_for=taken)
    return _begun(word, begun, version)


@lru_cache(maxsize=1024)
def find_short(word: str, version: Version) -> Found:
    """Look up ``-tp``, ``-O``; argparse takes the beginning of a short name, too."""
    names = _names(version)
    if word in names.words:
        name, negated = names.words[word]
        return Found(name, _kind(name, version), ALIAS, negated)
    for name, also in _all_rows():
        if word in also:
            return Found(f"--{name}", _kind(f"--{name}", version), ALIAS)
    return _begun(word, names.beginning(word), version)


def _begun(word: str, begun: dict[str, tuple[str, bool]], version: Version) -> Found:
    """The option of which a word is the beginning, where it is that of one alone."""
    if len(begun) == 1:
        name, negated = next(iter(begun.values()))
        return Found(name, _kind(name, version), PREFIX, negated)
    if begun:
        return Found(word, UNKNOWN, AMBIGUOUS, candidates=tuple(sorted(begun)))
    return Found(word, UNKNOWN, UNKNOWN_NAME)


def _of_other_releases(word: str) -> tuple[str, bool] | None:
    """The option that another release has under that very word."""
    bare = word[2:]
    if bare in OPTIONS:
        return word, False
    alias = next((name for name, also in _all_rows() if word in also), None)
    if alias is not None:
        return f"--{alias}", False
    positive = bare[len("no-") :] if bare.startswith("no-") else ""
    return (f"--{positive}", True) if any(row[0] == FLAG for row in OPTIONS.get(positive, ())) else None


def _all_rows() -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, rows in OPTIONS.items():
        for row in rows:
            yield name, row[3]


def _kind(name: str, version: Version) -> str:
    return option(name[2:], version).kind
