# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The files of a release folder, as texts and modes.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .record import ReleaseRecord, record_to_dict
from .runfile import render_args, render_entry, render_run

RECORD_NAME = "release.json"
GATE_NAME = "gate.json"
_EXECUTABLE = ("run", "entry")


def immutable_files(record: ReleaseRecord) -> dict[str, str]:
    """What never changes while the release is in use: name to text. ``release.json`` comes last, it completes it."""
    return {
        "run": render_run(record),
        "entry": render_entry(),
        "args": render_args(record),
        RECORD_NAME: to_json(record_to_dict(record)),
    }


def gate_text(gate: Mapping[str, Any], drain: Mapping[str, Any]) -> str:
    """The limits of a start; they are not part of the release's id and may be refreshed."""
    return to_json({**gate, "drain": dict(drain)})


def mode_of(name: str) -> int:
    """The mode of a file in a release folder."""
    return 0o755 if name in _EXECUTABLE else 0o644


def to_json(data: Mapping[str, Any]) -> str:
    """Write plain data for people: indented, sorted, one line end."""
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
