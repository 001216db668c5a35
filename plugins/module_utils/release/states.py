# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The states of a run and the legal moves between them: the only list.

Private to the collection.
"""

from __future__ import annotations

STAGED = "staged"
PREFLIGHTED = "preflighted"
DRAINING = "draining"
STOPPED = "stopped"
SWITCHED = "switched"
STARTING = "starting"
VERIFYING = "verifying"
SOAKING = "soaking"
COMMITTED = "committed"
ABORTED = "aborted"
ROLLING_BACK = "rolling_back"
ROLLED_BACK = "rolled_back"
ROLLBACK_FAILED = "rollback_failed"

TERMINAL = (COMMITTED, ABORTED, ROLLED_BACK, ROLLBACK_FAILED)

FIRST_START = "first_start"
START = "start"
STOP = "stop"
REMOVE = "remove"

_START_PATH = (STAGED, PREFLIGHTED, SWITCHED, STARTING, VERIFYING, SOAKING, COMMITTED)
_STOP_PATH = (STAGED, PREFLIGHTED, DRAINING, STOPPED, COMMITTED)

# What each kind of run goes through when nothing goes wrong.
PATHS = {FIRST_START: _START_PATH, START: _START_PATH, STOP: _STOP_PATH, REMOVE: _STOP_PATH}

# A run that fails here ends in `aborted`: nothing of the running service was touched yet.
ABORTABLE = (STAGED, PREFLIGHTED, DRAINING)

STARTING_KINDS = (FIRST_START, START)


def state_after(kind: str, state: str) -> str | None:
    """The state that follows a reached one when all goes well; None after a terminal one."""
    if state == ROLLING_BACK:
        return ROLLED_BACK
    path = PATHS[kind]
    if state in TERMINAL:
        return None
    return path[path.index(state) + 1]


def state_after_failure(state: str) -> str | None:
    """The state that follows one that could not be reached; a rollback is never rolled back."""
    if state in ABORTABLE:
        return ABORTED
    if state == ROLLING_BACK:
        return ROLLBACK_FAILED
    if state in (ABORTED, ROLLED_BACK, ROLLBACK_FAILED):
        return None
    return ROLLING_BACK


def legal_states(kind: str) -> tuple[str, ...]:
    """Every state that a run of this kind can be in."""
    return tuple(dict.fromkeys((*PATHS[kind], ABORTED, ROLLING_BACK, ROLLED_BACK, ROLLBACK_FAILED)))
