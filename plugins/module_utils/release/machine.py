# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a run does next, told from its journal alone and from whether the host is still in the same boot.

Every step can be done twice, so a driver that died is replaced by one that does the last intent again. Only a reboot
changes the course: a start that it interrupted is rolled back, unless the boot has started what was committed before. A
stop goes on, and so does a rollback: what it leads to was committed here before. Its start is begun anew.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .journal import DONE, FAILED, INTENT, Entry, first_failure, outcome
from .states import (
    ABORTABLE,
    ABORTED,
    CHANGE,
    COMMITTED,
    FIRST_START,
    ROLLBACK_FAILED,
    ROLLED_BACK,
    ROLLING_BACK,
    ROTATE,
    SOAKING,
    START,
    STARTING,
    SWITCHED,
    VERIFYING,
    state_after,
    state_after_failure,
)

REBOOTED = "the host restarted in the middle of the run"
BOOTED = f"{REBOOTED}; what was committed before boots by itself"

# What these kinds lead to was not proven yet, so it does not outlive its boot.
_BOUND_TO_BOOT = (FIRST_START, START, CHANGE, ROTATE)


@dataclass(frozen=True)
class Observed:
    """What the journal cannot say: whether the boot of the run still lasts, and what was committed last.

    ``start_lost``: the start that the run has recorded was one of an earlier boot.
    """

    same_boot: bool = True
    last_good: str | None = None
    start_lost: bool = False


@dataclass(frozen=True)
class Step:
    """The state to reach next, and why when it is not simply the next one."""

    state: str
    reason: str = ""

    @property
    def has_effects(self) -> bool:
        """Whether something is done on the host, so that an intent is journalled first."""
        return self.state not in (ABORTED, ROLLED_BACK)


def next_step(records: Sequence[Entry], observed: Observed) -> Step | None:
    """The next step of the run with these records; None when it has ended."""
    last = records[-1]
    if outcome(records) is not None:
        return None
    if last.phase == FAILED:
        after = state_after_failure(last.kind, last.state)
        return Step(after, _cause(records)) if after else None
    if _cut_by_reboot(last, observed):
        if _boots_by_itself(last, observed):
            return Step(COMMITTED, BOOTED)
        return Step(ABORTED if _untouched(last) else ROLLING_BACK, REBOOTED)
    if observed.start_lost and _proves_a_start(last):
        return Step(STARTING, REBOOTED)
    return Step(last.state, last.message) if last.phase == INTENT else _after(records)


def _after(records: Sequence[Entry]) -> Step | None:
    """What follows a state that was reached."""
    following = state_after(records[-1].kind, records[-1].state)
    return Step(following, _cause(records) if following == ROLLED_BACK else "") if following else None


def is_bound_to_boot(kind: str) -> bool:
    """Whether a run of this kind is taken back, as far as it has come, when the host restarts."""
    return kind in _BOUND_TO_BOOT


def _cut_by_reboot(last: Entry, observed: Observed) -> bool:
    """What was not committed does not outlive its boot; all else is simply done again."""
    going_back = last.state in (ROLLING_BACK, ROLLBACK_FAILED)
    if observed.same_boot or going_back or last.kind not in _BOUND_TO_BOOT:
        return False
    return not (last.state == COMMITTED and observed.last_good == last.release)


def _boots_by_itself(last: Entry, observed: Observed) -> bool:
    """A stopped service that was being started again runs by now: taking that back would stop it without a word."""
    switched = last.state != SWITCHED or last.phase == DONE
    return last.kind == START and last.release == observed.last_good and switched and not _untouched(last)


def _proves_a_start(last: Entry) -> bool:
    """Whether what comes next is about the very start that was recorded: another one has to be begun, and recorded."""
    return last.state in (VERIFYING, SOAKING) or (last.state, last.phase) == (STARTING, DONE)


def _untouched(last: Entry) -> bool:
    return last.state in ABORTABLE


def _cause(records: Sequence[Entry]) -> str:
    failure = first_failure(records)
    if failure:
        return failure.message
    return next((entry.message for entry in records if entry.state == ROLLING_BACK and entry.phase == INTENT), "")
