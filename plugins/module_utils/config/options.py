# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of one option of ``vllm serve`` in one release.

Private to the collection.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from ..versions import Version, parse_version
from ._options import OPTIONS
from ._releases import RELEASES
from .releases import within

FLAG, SWITCH, FLAG_VALUE, VALUE = "flag", "switch", "flag_value", "value"
LIST, JSON, JSON_LIST, APPEND, COMMA = "list", "json", "json_list", "append", "comma"
UNKNOWN = "unknown"
NEWEST_READ = RELEASES[-1]


@dataclass(frozen=True)
class Option:
    """One option as a release has it; ``present`` is false when only other releases have it, or none."""

    name: str
    kind: str
    present: bool
    known: bool = True

    @property
    def negatable(self) -> bool:
        """Whether ``--no-<name>`` exists."""
        return self.kind in {FLAG, UNKNOWN}


def option(name: str, version: Version) -> Option:
    """Look an option up; where this release does not have it, the kind of the nearest release that had it."""
    rows = OPTIONS.get(name) or _by_long_alias().get(name) or ()
    for kind, since, until, _also in rows:
        if within(since, until, version):
            return Option(name, kind, present=True)
    if rows:
        first_since = rows[0][1]
        older = first_since is not None and version < parse_version(first_since)
        return Option(name, rows[0 if older else -1][0], present=False)
    return Option(name, UNKNOWN, present=False, known=False)


def _by_long_alias() -> dict[str, tuple[tuple[str, str | None, str | None, tuple[str, ...]], ...]]:
    return {
        also.lstrip("-"): rows for rows in OPTIONS.values() for row in rows for also in row[3] if also.startswith("--")
    }


def long_name(short: str) -> str | None:
    """The option that a short name (``tp``, ``-tp``) stands for, or None."""
    wanted = "-" + short.lstrip("-")
    return next((name for name, rows in OPTIONS.items() for row in rows if wanted in row[3]), None)


def nearest_option(name: str) -> str | None:
    """The known option whose name is most like this one, or None when none is near."""
    return next(iter(difflib.get_close_matches(name, OPTIONS, n=1, cutoff=0.75)), None)


def releases_with(name: str) -> str:
    """Say which releases have an option: ``since 0.18.0``, ``until 0.17.0``; empty when all have it."""
    rows = OPTIONS.get(name, ())
    since, until = (rows[0][1], rows[-1][2]) if rows else (None, None)
    return ", ".join(f"{word} {release}" for word, release in (("since", since), ("gone in", until)) if release)
