# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Tell two release contents apart, item by item, in the words of the person who wrote the definition.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .runfile import argument_groups

MODEL_WORD = "model"
_MAPS = ("env", "ulimits", "model")


def content_differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List what differs as ``what``, ``before`` and ``after``; None stands for what is not there."""
    left, right = _flat(before), _flat(after)
    return [
        {"what": what, "before": left.get(what), "after": right.get(what)}
        for what in dict.fromkeys([*left, *right])
        if left.get(what) != right.get(what)
    ]


def _flat(content: Mapping[str, Any]) -> dict[str, Any]:
    items: dict[str, Any] = {}
    for key, value in content.items():
        if key == "args":
            items.update(_options(value))
        elif key in _MAPS and isinstance(value, Mapping):
            items.update({f"{key}.{name}": item for name, item in value.items()})
        else:
            items[key] = list(value) if isinstance(value, tuple) else value
    return items


def _options(args: Iterable[str]) -> dict[str, Any]:
    options: dict[str, list[str]] = {}
    for group in argument_groups(args):
        name = group[0] if group[0].startswith("--") else MODEL_WORD
        options.setdefault(name, []).extend(group[1:] if name != MODEL_WORD else group)
    return {name: " ".join(words) if words else True for name, words in options.items()}
