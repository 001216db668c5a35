# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The HTTP routes of a release of vLLM: which of them the API key covers, and what the others let anyone do.

Private to the collection.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ..versions import Version
from ._routes import ROUTES
from .releases import in_force, within

DEVELOPMENT = "development"


@dataclass(frozen=True)
class Route:
    """``gate`` is what must be set for the route to exist; empty where it is always there."""

    method: str
    path: str
    lets: str = ""
    gate: str = ""
    source: str = ""


def guarded_prefixes(version: Version) -> tuple[str, ...]:
    """Below which paths a version asks for the API key."""
    return tuple(in_force(_data()["guarded"], version) or ())


def routes(version: Version) -> tuple[Route, ...]:
    """All routes of a version, whatever must be set for them."""
    found = []
    for row in _data()["routes"]:
        if within(row.get("since"), row.get("until"), version):
            gate = in_force(row.get("gates", {}), version) or ""
            found.append(Route(row["method"], row["path"], row.get("lets", ""), gate, f"vllm/{row['source']}"))
    return tuple(found)


def unguarded(version: Version) -> tuple[Route, ...]:
    """The routes that the API key never covers, but for those of the development mode."""
    return tuple(route for route in routes(version) if route.gate != DEVELOPMENT and not _guarded(route, version))


def development(version: Version) -> tuple[Route, ...]:
    """The routes that ``VLLM_SERVER_DEV_MODE=1`` adds; the API key covers none of them."""
    return tuple(route for route in routes(version) if route.gate == DEVELOPMENT)


def _guarded(route: Route, version: Version) -> bool:
    return route.path.startswith(guarded_prefixes(version))


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(ROUTES)
    return data
