# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What happened to flags of ``vllm serve``, to environment variables and to metrics: look one up by its name.

The table is text and large: one entry is read when it is asked for. Modules that only write arguments use options.py.

Private to the collection.
"""

from __future__ import annotations

import difflib
import json
from functools import lru_cache

from ..versions import Version
from ._history import FLAGS, METRICS, VARIABLES
from .entry import Default, Deprecation, History, read_entry
from .releases import RELEASES

__all__ = ["Default", "Deprecation", "History"]
_NEAR = 0.75
_LONGEST = 100
MOST_GUESSES = 100  # of one subject: each takes about a millisecond


def flag(name: str) -> History | None:
    """The history of a flag by its long name (``--max-model-len``) or another of its names (``-tp``)."""
    return _entry("flags", name) or _entry("flags", _by_alias().get(name, ""))


def variable(name: str) -> History | None:
    """The history of an environment variable."""
    return _entry("variables", name)


def metric(name: str) -> History | None:
    """The history of a metric by its exported name, of a counter also without its ``_total``."""
    return _entry("metrics", name) or _entry("metrics", f"{name}_total")


def flags(version: Version) -> tuple[str, ...]:
    """The long names of the flags that a version has."""
    return tuple(name for name in _names("flags") if _present(name, version))


def variables() -> tuple[str, ...]:
    """The names of all variables, whatever the version."""
    return _names("variables")


def metrics() -> tuple[str, ...]:
    """The exported names of all metrics, whatever the version."""
    return _names("metrics")


def nearest_flag(name: str) -> str | None:
    """The flag whose name is most like this one, or None when none is near."""
    return _nearest("flags", name)


def nearest_variable(name: str) -> str | None:
    """The variable whose name is most like this one, or None when none is near."""
    return _nearest("variables", name)


def nearest_metric(name: str) -> str | None:
    """The metric whose name is most like this one, or None when none is near."""
    return _nearest("metrics", name)


_TABLES = {"flags": FLAGS, "variables": VARIABLES, "metrics": METRICS}


@lru_cache(maxsize=1024)
def _entry(table: str, name: str) -> History | None:
    text = _TABLES[table]
    wanted = f"{name} "
    start = 0 if text.startswith(wanted) else text.find(f"\n{wanted}") + 1
    if not name or (start == 0 and not text.startswith(wanted)):
        return None
    end = text.index("\n", start)
    return read_entry(name, json.loads(text[start + len(wanted) : end]), RELEASES[0])


@lru_cache(maxsize=3)
def _names(table: str) -> tuple[str, ...]:
    return tuple(line.partition(" ")[0] for line in _TABLES[table].splitlines())


@lru_cache(maxsize=1)
def _by_alias() -> dict[str, str]:
    """Other names; only the few lines that have some are read."""
    found = {}
    for line in FLAGS.splitlines():
        name, _space, data = line.partition(" ")
        if '"also":' in data:
            found.update({alias: name for alias in json.loads(data)["also"]})
    return found


def _present(name: str, version: Version) -> bool:
    found = _entry("flags", name)
    return found is not None and found.present(version)


@lru_cache(maxsize=1024)
def _nearest(table: str, name: str) -> str | None:
    if len(name) > _LONGEST:
        return None  # comparing takes time that grows with the name, and no name is so long
    return next(iter(difflib.get_close_matches(name, _names(table), n=1, cutoff=_NEAR)), None)
