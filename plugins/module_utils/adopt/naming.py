# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A name for the service that a hand-made server becomes: neither its container nor its unit is in the way of ours.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ..release.paths import Paths
from .seen import COMPOSE_SERVICE, Seen

_MOST = 30
BEFORE = "-before-adoption"


def service_name(seen: Seen, taken: Collection[str], containers: Collection[str], units: Collection[str]) -> str:
    """The container's (or the compose service's) own name, with a number where somebody has it."""
    base = _plain(seen.labels.get(COMPOSE_SERVICE) or seen.name)
    number = 1
    while not _is_free(name := base if number == 1 else f"{base}-{number}", taken, containers, units):
        number += 1
    return name


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_MOST].strip("-") or "vllm"


def _is_free(name: str, taken: Collection[str], containers: Collection[str], units: Collection[str]) -> bool:
    paths = Paths(name)
    return not (name in (*taken, "boot") or paths.container in containers or paths.unit in units)
