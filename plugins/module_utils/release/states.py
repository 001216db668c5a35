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
CHANGE = "change"
ROLLBACK = "rollback"
ROTATE = "rotate"
STOP = "stop"
REMOVE = "remove"

_START_PATH = (STAGED, PREFLIGHTED, SWITCHED, STARTING, VERIFYING, SOAKING, COMMITTED)
_STOP_PATH = (STAGED, PREFLIGHTED, DRAINING, STOPPED, COMMITTED)
_WHOLE_PATH = (STAGED, PREFLIGHTED, DRAINING, STOPPED, SWITCHED, STARTING, VERIFYING, SOAKING, COMMITTED)

# What each kind of run goes through when nothing goes wrong.
PATHS = {
    FIRST_START: _START_PATH,
    START: _START_PATH,
    CHANGE: _WHOLE_PATH,
    ROLLBACK: _WHOLE_PATH,
    ROTATE: _WHOLE_PATH,
    STOP: _STOP_PATH,
    REMOVE: _STOP_PATH,
}

# A run that fails here ends in `aborted`: nothing of the running service was touched yet.
ABORTABLE = (STAGED, PREFLIGHTED, DRAINING)

# What starts an engine where none runs; what replaces one that runs; both together are what a gate has to pass.
STARTING_KINDS = (FIRST_START, START)
REPLACING_KINDS = (CHANGE, ROLLBACK, ROTATE)
GATED_KINDS = (*STARTING_KINDS, *REPLACING_KINDS)

# The states in which the release of the run is current and not committed yet: it must not outlive its boot.
UNPROVEN = (SWITCHED, STARTING, VERIFYING, SOAKING)

# The moves that a failure makes; a rollback is never rolled back.
_FAILURES = {ROLLING_BACK: ROLLBACK_FAILED, ABORTED: None, ROLLED_BACK: None, ROLLBACK_FAILED: None}


def state_after(kind: str, state: str) -> str | None:
    """The state that follows a reached one when all goes well; None after a terminal one."""
    if state == ROLLING_BACK:
        return ROLLED_BACK
    path = PATHS[kind]
    if state in TERMINAL:
        return None
    return path[path.index(state) + 1]


def state_after_failure(kind: str, state: str) -> str | None:
    """The state that follows one that could not be reached; None for one that ends the run all the same."""
    if state in ABORTABLE:
        return ABORTED
    if state in _FAILURES:
        return _FAILURES[state]
    return ROLLBACK_FAILED if kind == ROLLBACK else ROLLING_BACK


def legal_states(kind: str) -> tuple[str, ...]:
    """Every state that a run of this kind can be in."""
    back = () if kind == ROLLBACK else (ROLLING_BACK, ROLLED_BACK)
    return tuple(dict.fromkeys((*PATHS[kind], ABORTED, *back, ROLLBACK_FAILED)))


def legal_moves(kind: str) -> tuple[tuple[str, str], ...]:
    """Every move that a run of this kind can make: from a state that was reached, or could not be, to the next one."""
    good = [(state, state_after(kind, state)) for state in PATHS[kind]]
    failed = [(state, state_after_failure(kind, state)) for state in PATHS[kind]]
    back = [] if kind == ROLLBACK else [(ROLLING_BACK, ROLLED_BACK), (ROLLING_BACK, ROLLBACK_FAILED)]
    return tuple(dict.fromkeys((state, after) for state, after in (*good, *failed, *back) if after))
