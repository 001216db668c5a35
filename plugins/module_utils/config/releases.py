# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of vLLM that the tables were read from.

Private to the collection.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

from ..versions import Version, parse_version
from ._releases import RELEASES as _NAMES

RELEASES: tuple[Version, ...] = tuple(parse_version(name) for name in _NAMES)
NEWEST: Version = RELEASES[-1]


def nearest(version: Version) -> Version:
    """The newest release read that is not newer than this one; the oldest where all are."""
    return RELEASES[max(bisect_right(RELEASES, version) - 1, 0)]


def is_newer(version: Version) -> bool:
    """Whether nothing is known of this version itself, because it came after the newest release read."""
    return version > NEWEST


def within(since: str | None, until: str | None, version: Version) -> bool:
    """Whether a version lies in a stretch of releases: from ``since`` on, before ``until``; None leaves an end open."""
    return (since is None or version >= parse_version(since)) and (until is None or version < parse_version(until))


def in_force(history: Mapping[str, Any], version: Version) -> Any:
    """What is in force in a version, of values by the release that began them, oldest first; None before all.

    Of releases that nobody read, it is what was in force in the oldest that was.
    """
    found = None
    for since, value in history.items():
        if parse_version(since) <= max(version, RELEASES[0]):
            found = value
    return found
