# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A command line of ``vllm serve``, read: which option each word belongs to, under its long name.

Private to the collection.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

EXACT, ALIAS, PREFIX, AMBIGUOUS, UNKNOWN = "exact", "alias", "prefix", "ambiguous", "unknown"
_SIZE = re.compile(r"([+-]?\d+)(?:(\.\d+)?([kmgt])|([KMGT]))?")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


@dataclass(frozen=True)
class Given:
    """One option as it was given.

    ``name`` is the long name with dashes (``--max-model-len``), ``written`` the word as it stands (``--max_model_le``,
    ``-tp``, ``--no-enable-prefix-caching``, ``--speculative-config.model``), without its ``=VALUE``. ``values`` are the
    words that it takes, none for a switch. ``path`` are the keys below a JSON option that was written with dots.
    ``how`` says how the name was found; ``taken_for`` is the option that argparse would take a name for that this
    release does not have, because it is a prefix of it; ``candidates`` are the options that an ambiguous one begins.
    """

    name: str
    written: str
    values: tuple[str, ...] = field(default=(), repr=False)
    negated: bool = False
    path: tuple[str, ...] = ()
    how: str = EXACT
    taken_for: str | None = None
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True)
class LineFault:
    """What argparse would refuse, besides names: the option as written, and what was expected."""

    written: str
    message: str


@dataclass(frozen=True)
class CommandLine:
    """All options in their order; ``model`` is the positional one, or that of ``--model``."""

    model: str | None = None
    model_is_positional: bool = False
    given: tuple[Given, ...] = ()
    extras: tuple[str, ...] = field(default=(), repr=False)
    faults: tuple[LineFault, ...] = field(default=())

    def all(self, name: str) -> tuple[Given, ...]:
        """Every time that an option was given, dotted keys below it included."""
        return tuple(given for given in self.given if given.name == name and given.how != AMBIGUOUS)

    def last(self, name: str) -> Given | None:
        """The one that counts where an option was given more than once; None where it was not."""
        return next((given for given in reversed(self.all(name)) if not given.path), None)

    def has(self, name: str) -> bool:
        """Whether it is given, dotted keys included, and its last word is not ``--no-``."""
        found = self.all(name)
        return bool(found) and not found[-1].negated

    def switched(self, name: str) -> bool | None:
        """On or off as the command line says it, None where it leaves it open."""
        found = self.last(name)
        return None if found is None else not found.negated

    def value(self, name: str) -> str | None:
        """The (first) word of the option's value."""
        found = self.last(name)
        return found.values[0] if found is not None and found.values else None

    def integer(self, name: str) -> int | None:
        """The value as a whole number, with vLLM's suffixes: ``32k`` is 32,000, ``32K`` is 32,768."""
        text = self.value(name)
        return None if text is None else read_integer(text)

    def number(self, name: str) -> float | None:
        """The value as a number; None where it is none."""
        try:
            found = float(self.value(name) or "")
        except ValueError:
            return None
        return found if math.isfinite(found) else None

    def mapping(self, name: str) -> dict[str, Any] | None:
        """The map of a JSON option. vLLM puts dotted keys behind all else as one word, so they replace a whole map."""
        dotted = [given for given in self.all(name) if given.path]
        if dotted:
            merged: dict[str, Any] = {}
            for given in dotted:
                _put(merged, given.path, given.values[0] if given.values else "")
            return merged
        text = self.value(name)
        try:
            read = json.loads(text) if text is not None else None
        except (ValueError, RecursionError):
            return None
        return read if isinstance(read, dict) else None


def read_integer(text: str) -> int | None:
    """A whole number as vLLM reads one, with a suffix or without; None where it is none."""
    match = _SIZE.fullmatch(text.strip()) if len(text) < 40 else None  # noqa: PLR2004 - no number is longer
    if match is None:
        return None
    whole, fraction, decimal, binary = match.groups()
    if binary:
        return int(whole) * _BINARY[binary]
    return int(float(whole + (fraction or "")) * _DECIMAL[decimal]) if decimal else int(whole)


def _put(target: dict[str, Any], path: tuple[str, ...], text: str) -> None:
    """Write one dotted key into the map; ``key+`` adds the items of a list."""
    *above, last = path
    for key in above:
        below = target.setdefault(key, {})
        if not isinstance(below, dict):
            below = target[key] = {}
        target = below
    if last.endswith("+"):
        _merge(target, last[:-1], text.split(","))
        return
    _merge(target, last, _dotted_value(text))


def _merge(target: dict[str, Any], key: str, value: Any) -> None:
    """Maps grow together and lists grow, anything else is replaced."""
    before = target.get(key)
    if isinstance(before, dict) and isinstance(value, dict):
        for each, inner in value.items():
            _merge(before, each, inner)
    elif isinstance(before, list) and isinstance(value, list):
        target[key] = [*before, *value]
    else:
        target[key] = value


def _dotted_value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        number = read_integer(text)
        return text if number is None else number
