# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Look at a service, decide what to do with it now, and find or open the run that does it.

A start that the host's restart cut off is ended first.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ..io.observe import observe
from ..release.decide import Decision, cut_by_reboot, decide
from ..release.paths import Paths
from ..release.service_state import ServiceState
from ..release.states import ABORTED, ROLLED_BACK
from .calling_back import call_back
from .errors import RunIsOpen, ToolError
from .following import watch
from .opening import Request, open_run, start_driver

# Nothing of such a run lives any more: taking it back is a matter of seconds.
END_WAIT = 60.0

Watcher = Callable[[Paths, str, float], dict[str, Any]]
Observer = Callable[[Paths], ServiceState]


@dataclass(frozen=True)
class Wanted:
    """The state that was asked for, with its release, whether one that went back may be tried again, who and why.

    ``data`` is what the run is opened with: ``accept_no_rollback``, ``confirm_seconds``, ``adopt``.
    """

    state: str
    release: str | None = None
    retry: bool = False
    by: str = ""
    why: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def find_run(paths: Paths, wanted: Wanted, decision: Decision, *, look: Observer = observe) -> tuple[Decision, str]:
    """The run to follow, opened when it has to be. Whoever was quicker and wants the same is followed."""
    if decision.follow:
        if decision.cancels:
            call_back(paths, wanted.by, wanted.why)
        return decision, decision.follow
    try:
        run_id = open_run(paths, Request(str(decision.kind), decision.release, wanted.by, wanted.why, wanted.data))
    except RunIsOpen:
        other = decide(wanted.state, wanted.release, look(paths), retry=wanted.retry)
        if not other.follow:
            raise
        return other, other.follow
    start_driver(paths)
    return decision, run_id


def decide_now(
    paths: Paths, wanted: Wanted, *, check: bool, look: Observer = observe, follow: Watcher = watch
) -> tuple[Decision, list[str]]:
    """The decision, and what became of a run that had to end before it; ToolError for a refusal."""
    state = look(paths)
    ended: list[str] = []
    decision = decide(wanted.state, wanted.release, state, retry=wanted.retry)
    if not check and _cut_off(decision, wanted, state):
        done = follow(paths, str(decision.follow), END_WAIT)
        if done["result"] in (ABORTED, ROLLED_BACK):
            ended = [done["summary"]]
            decision = decide(wanted.state, wanted.release, look(paths), retry=wanted.retry)
    if decision.refused:
        raise ToolError(f"{paths.service}: {'; '.join([*ended, decision.refused])}")
    return decision, ended


def _cut_off(decision: Decision, wanted: Wanted, state: ServiceState) -> bool:
    """Whether there is only the end of an interrupted start left, of the very release that is wanted.

    Another release would not be staged yet: that run is followed to its end, and the next deploy goes on.
    """
    return decision.follow is not None and decision.release == wanted.release and cut_by_reboot(state)
