# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Forbid changes of a service, and allow them again: the one lock that a human holds.

Private to the collection.
"""

from __future__ import annotations

from ..io.clock import CLOCK, Clock
from ..io.files import read_if_there, remove, write_atomic
from ..io.readers import make_state
from ..release.paths import Paths
from .errors import ToolError


def frozen_by(paths: Paths) -> str | None:
    """Who froze the service, when and why; None when it is not frozen."""
    text = read_if_there(paths.freeze)
    return None if text is None else text.strip()


def freeze(paths: Paths, by: str, why: str, *, check: bool = False, clock: Clock = CLOCK) -> bool:
    """Freeze; whether that is a change. One that is frozen keeps its first reason; ToolError without a reason."""
    if not paths.state.is_dir():
        raise ToolError(f"{paths.service}: it is not on this host, so there is nothing to freeze")
    if paths.freeze.exists():
        return False
    if not why.strip():
        raise ToolError(
            f"{paths.service}: a freeze needs a reason, which others read. Next: -e vllm_why=REASON, or --why REASON"
        )
    if not check:
        make_state(paths)
        write_atomic(paths.freeze, f"{why.strip()} (by {by or 'unknown'}, {clock.now()[:19]}Z)\n")
    return True


def unfreeze(paths: Paths, *, check: bool = False) -> bool:
    """Allow changes again; whether that is a change."""
    if not paths.freeze.exists():
        return False
    return check or remove(paths.freeze)
