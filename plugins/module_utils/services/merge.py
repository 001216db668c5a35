# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Lay the inventory's defaults under a service: maps are merged, everything else is replaced.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..config.arguments import option_name


def merged(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """``own`` over ``defaults``; a null in ``own`` takes the default away."""
    both = dict(defaults)
    for key, value in own.items():
        below = both.get(key)
        both[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return both


def spelled(service: Mapping[str, Any]) -> dict[str, Any]:
    """The service with one spelling for each option of ``config``, so that a default and its override meet."""
    config = service.get("config")
    if not isinstance(config, Mapping):
        return dict(service)
    return {**service, "config": {option_name(name): value for name, value in config.items()}}


def spelled_twice(config: Mapping[str, Any]) -> list[str]:
    """Options that one map has both with dashes and with underscores."""
    names = [option_name(name) for name in config]
    return sorted({name for name in names if names.count(name) > 1})
