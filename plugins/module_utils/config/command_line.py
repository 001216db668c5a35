# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A command line of ``vllm serve``, read: which option each word belongs to, under its long name.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass, field

EXACT, ALIAS, PREFIX, AMBIGUOUS, UNKNOWN = "exact", "alias", "prefix", "ambiguous", "unknown"


@dataclass(frozen=True)
class Given:
    """One option as it was given.

    ``name`` is the long name with dashes (``--max-model-len``), ``written`` the word as it stands (``--max_model_le``,
    ``-tp``, ``--no-enable-prefix-caching``, ``--speculative-config.model``), without its ``=VALUE``. ``values`` are the
    words that it takes, none for a switch. ``path`` are the keys below a JSON option that was written with dots.
    ``how`` says how the name was found; ``taken_for`` is the option that argparse would take a name for that this
    release does not have, because it is a prefix of it.
    """

    name: str
    written: str
    values: tuple[str, ...] = ()
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
    extras: tuple[str, ...] = ()
    faults: tuple[LineFault, ...] = field(default=())
