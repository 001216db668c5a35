# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The answers to golden prompts on the disk: ``starts/<seq>/golden.json``. No decisions.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..health.golden_kept import GoldenReference, reference_from_dict
from ..release.files import to_json
from ..release.paths import Paths
from . import starts
from .files import link_name, read_if_there, write_atomic

NAME = "golden.json"


def keep(paths: Paths, seq: int, data: Mapping[str, Any]) -> None:
    """Keep what was answered at the gate of a start; OSError when the disk refuses."""
    write_atomic(paths.start(seq) / NAME, to_json(data))


def reference(paths: Paths, release: str, model: object, before: int | None) -> GoldenReference | None:
    """What the last good release answered the last time that it was asked at a gate, one before this start's own."""
    good = link_name(paths.last_good)
    for seq in reversed(starts.numbers(paths)):
        if (before is None or seq < before) and starts.read(paths, seq).get("release") == good:
            data = _read(paths, seq)
            if data is not None:
                return reference_from_dict(data, release, model)
    return None


def _read(paths: Paths, seq: int) -> object:
    try:
        return json.loads(read_if_there(paths.start(seq) / NAME) or "null")
    except (ValueError, RecursionError):
        return None
