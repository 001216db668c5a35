# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read a map by a table of keys: unknown keys, missing keys, wrong types, choices, defaults.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .problems import Complaints, kind_of, nearest, show
from .schema import Key


def read_typed(
    given: Mapping[str, Any], keys: Mapping[str, Key], complaints: Complaints, prefix: str = ""
) -> dict[str, Any]:
    """A value for every key of the table: what was given, else its default; null is the same as not given."""
    for name in given:
        if name not in keys:
            complaints.unknown(f"{prefix}{name}", keys)
    return {name: _read(given.get(name), key, complaints, prefix) for name, key in keys.items()}


def _read(value: object, key: Key, complaints: Complaints, prefix: str) -> Any:
    place = f"{prefix}{key.name}"
    if value is None:
        if key.required:
            complaints.say(place, "nothing", f"{key.allowed}; this key is required")
        return _default(key)
    if not key.accepts(value):
        shown = show(place, value)
        complaints.at(place, value, f"{key.allowed}; {_found(shown, kind_of(value))}")
        return None if key.required else _default(key)
    if key.choices and value not in key.choices:
        complaints.at(place, value, key.allowed, nearest=nearest(str(value), key.choices))
        return _default(key)
    return value


def _found(shown: str, kind: str) -> str:
    return "this is " + (shown if shown.startswith("a ") else f"{'' if kind == 'true or false' else 'a '}{kind}")


def _default(key: Key) -> Any:
    if isinstance(key.default, tuple):
        return list(key.default)
    return dict(key.default) if isinstance(key.default, dict) else key.default
