# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The controller's word that a change may stay, where its policy asks for one: without it the host goes back by itself.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Callable

from ..io.files import read_if_there, remove, write_atomic
from ..io.journals import read_journal
from ..release.journal import open_run
from ..release.paths import Paths
from .calling_back import who_called_back
from .errors import ToolError
from .steps import Context, StepFailed

_LOOK_EVERY = 1.0


def await_confirmation(context: Context, go_on: Callable[[Context], None]) -> str:
    """Wait for the word as long as the run was told; what became of it, for the journal. StepFailed without one."""
    seconds = context.told("confirm_seconds")
    if not seconds:
        return ""
    paths, run_id = context.paths, context.opening.run
    write_atomic(paths.awaits, run_id + "\n")
    context.say(f"soaking: waits {seconds:.0f} s at most for the word: vllm-host confirm {paths.service}")
    until = context.clock.monotonic() + float(seconds)
    try:
        while not is_confirmed(paths, run_id):
            if context.clock.monotonic() >= until:
                raise StepFailed(f"nobody confirmed it within {seconds:.0f} s")
            go_on(context)
            context.clock.sleep(_LOOK_EVERY)
    finally:
        remove(paths.awaits)
    return ", and it was confirmed"


def is_confirmed(paths: Paths, run_id: str) -> bool:
    """Whether the word was given for this very run."""
    return (read_if_there(paths.confirmed) or "").strip() == run_id


def awaits_confirmation(paths: Paths, run_id: str) -> bool:
    """Whether this run waits for the word right now; one that was told to go back does not any more."""
    waits = (read_if_there(paths.awaits) or "").strip() == run_id
    return waits and not is_confirmed(paths, run_id) and who_called_back(paths) is None


def confirm(paths: Paths) -> str:
    """Give the word for the open run that waits for it; its id. ToolError when none does."""
    records = open_run(read_journal(paths).entries)
    run_id = records[0].run if records else ""
    if not run_id or not awaits_confirmation(paths, run_id):
        state = f"{run_id} is at {records[-1].state}" if records else "no run is open"
        raise ToolError(f"{paths.service}: no run waits for a confirmation; {state}: vllm-host status {paths.service}")
    write_atomic(paths.confirmed, run_id + "\n")
    return run_id
