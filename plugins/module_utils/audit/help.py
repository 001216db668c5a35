# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read what ``vllm serve --help=all`` of an image prints: argparse's layout, one entry an option.

Long words are broken where a line is full and lines break after hyphens, so a text that was wrapped is the same as
another when both are without white space: ``without_space``.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

# An option stands two columns in, its help twenty-four or (where the line is too short for both) in the next lines.
_OPTION = re.compile(r" {2}(-{1,2}[A-Za-z]\S*.*)")
_HELP_INDENT = " " * 8
_NAMES_END = re.compile(r",\s+(?=-)")
_DEFAULT = "(default:"


@dataclass(frozen=True)
class HelpOption:
    """One option: ``names`` as they are printed; ``name`` the first long one (``--max-model-len``).

    ``choices`` are what the parser takes and nothing else, None where it takes any text; ``default`` is Python's text
    of it, None where none is printed. ``metavar`` stands for the value; a switch has none.
    """

    name: str
    names: tuple[str, ...]
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    default: str | None = None

    @property
    def negatable(self) -> bool:
        """Whether ``--no-<name>`` is one of its names."""
        return f"--no-{self.name[2:]}" in self.names

    @property
    def takes_many(self) -> bool:
        """Whether it takes more than one word."""
        return self.metavar is not None and "..." in self.metavar


@dataclass(frozen=True)
class HelpOptions:
    """All options of one help text, in its order; ``by_name`` has each of them under each of its names."""

    options: tuple[HelpOption, ...]
    by_name: Mapping[str, HelpOption] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The long names, without the ``--no-`` forms and without the other names."""
        return frozenset(option.name for option in self.options)

    def find(self, name: str) -> HelpOption | None:
        """The option of a name as it is given: long, short, negated, with underscores; None when there is none."""
        return self.by_name.get(dashes(name))


def read_help(text: str) -> HelpOptions:
    """Read a help text; whatever is no option in it is left out, so a text of something else has none."""
    options = tuple(_option(head, words) for head, words in _entries(text.splitlines()))
    by_name: dict[str, HelpOption] = {}
    for option in options:
        for name in option.names:
            by_name.setdefault(name, option)
    return HelpOptions(options, by_name)


def dashes(name: str) -> str:
    """vLLM takes underscores for dashes, in names that begin with two dashes."""
    return "--" + name[2:].replace("_", "-") if name.startswith("--") else name


def without_space(text: str) -> str:
    """A text in the form in which it can be compared with one that was wrapped."""
    return "".join(text.split())


def _entries(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Each option's names, and the lines of its help."""
    head: str | None = None
    words: list[str] = []
    for line in lines:
        found = _OPTION.fullmatch(line)
        if found or not line.startswith(_HELP_INDENT):
            if head is not None:
                yield head, words
            head, words = None, []
        if found:
            head, _space, rest = _split(found.group(1))
            words = [rest] if rest else []
        elif head is not None:
            words.append(line.strip())
    if head is not None:
        yield head, words


def _split(text: str) -> tuple[str, str, str]:
    """Names and values of an option have one space between them; its help stands after two or more."""
    head, space, rest = text.partition("  ")
    return head.rstrip(), space, rest.strip()


def _option(head: str, words: list[str]) -> HelpOption:
    names: list[str] = []
    metavar: str | None = None
    for part in _NAMES_END.split(head):
        name, _space, value = part.partition(" ")
        names.append(dashes(name))
        metavar = value.strip() or metavar
    long_names = [name for name in names if name.startswith("--")]
    name = long_names[0] if long_names else names[0]
    return HelpOption(name, tuple(names), metavar, _choices(metavar), _default(" ".join(words)))


def _choices(metavar: str | None) -> tuple[str, ...] | None:
    """``{a,b}``, and ``{a,b} [{a,b} ...]`` of an option that takes many; not a metavar that goes on in words."""
    inner = re.fullmatch(r"\{([^{}]*)\}(?: \[\{.*\} \.\.\.\])?", metavar or "")
    return tuple(choice.strip() for choice in inner.group(1).split(",")) if inner else None


def _default(text: str) -> str | None:
    """What stands after the last ``(default:``, to the bracket that ends the text."""
    _before, found, after = text.rpartition(_DEFAULT)
    value = after.strip()
    return value[:-1].strip() if found and value.endswith(")") else None
