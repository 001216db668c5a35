# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The evidence of every start on the disk: ``starts/<seq>/state.json``, ``startup.json``, the log. No decisions.

Private to the collection.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

from ..release.files import to_json
from ..release.paths import Paths
from ..release.retention import to_let_go
from ..release.service_state import StartState
from .files import make_folder, read_if_there, sync_folder, write_atomic
from .kept_log import size_of


def numbers(paths: Paths) -> list[int]:
    """The numbers of all starts that are kept, oldest first."""
    folders = paths.starts.iterdir() if paths.starts.is_dir() else ()
    return sorted(int(folder.name) for folder in folders if folder.name.isdigit())


def begin(paths: Paths, fields: dict[str, Any]) -> int:
    """Make the folder of a new start, and let go of earlier ones as the retention says."""
    known = numbers(paths)
    seq = known[-1] + 1 if known else 1
    # A folder gets its number when its file is in it: one without would be a start that nobody knows anything of.
    part = paths.starts / f".{seq}.new"
    shutil.rmtree(part, ignore_errors=True)
    make_folder(part)
    write_atomic(part / "state.json", to_json({"seq": seq, "service": paths.service, **fields}))
    part.rename(paths.start(seq))
    sync_folder(paths.starts)
    earlier = [state_of(paths, number) for number in known]
    for old in to_let_go(earlier, {number: size_of(paths.start(number)) for number in known}):
        shutil.rmtree(paths.start(old), ignore_errors=True)
    return seq


def update(paths: Paths, seq: int, fields: dict[str, Any]) -> None:
    """Add to what is known of a start."""
    write_atomic(paths.start(seq) / "state.json", to_json({**read(paths, seq), **fields}))


def read(paths: Paths, seq: int) -> dict[str, Any]:
    """What is known of a start; nothing when it is not kept or its file is no JSON."""
    try:
        data = json.loads(read_if_there(paths.start(seq) / "state.json") or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def state_of(paths: Paths, seq: int) -> StartState:
    """The same as a value that can be judged."""
    data = read(paths, seq)
    return StartState(seq, data.get("release"), data.get("ready_seconds"), data)


def latest(paths: Paths) -> int | None:
    """The number of the newest start."""
    known = numbers(paths)
    return known[-1] if known else None


def of_invocation(paths: Paths, invocation_id: str) -> int | None:
    """The number of the start that systemd knows by this id."""
    if not invocation_id:
        return None
    return next(
        (seq for seq in reversed(numbers(paths)) if read(paths, seq).get("invocation_id") == invocation_id), None
    )


def startup(paths: Paths, seq: int) -> dict[str, Any]:
    """The parsed start-up log of a start; nothing while there is none."""
    try:
        data = json.loads(read_if_there(paths.start(seq) / "startup.json") or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def kv_cache_tokens(paths: Paths, release: str | None) -> int | None:
    """What the newest start of a release that became ready had room for; None where no log tells."""
    for seq in reversed(numbers(paths)):
        start = state_of(paths, seq)
        if start.release == release and start.ready_seconds is not None:
            return startup(paths, seq).get("kv_cache_tokens_usable")
    return None
