# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The releases of vLLM that the tables were read from.

Private to the collection.
"""

from __future__ import annotations

from bisect import bisect_right

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
