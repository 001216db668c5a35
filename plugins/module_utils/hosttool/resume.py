# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host resume``: what a restart of the host left open, for all its services. Run at each start of Docker.

A run of an earlier boot is ended before the services start, so that what boots is what was committed. One of this boot
that lost its driver gets a new one; it may have to start the very units that wait for this program, so nobody waits for
it here. Each run has a driver of its own under systemd: one that hangs holds up no other service, and not the boot.
Private to the collection.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import link_name, read_if_there
from ..io.journals import read_journal
from ..io.observe import state_folders
from ..release.journal import JournalError, open_run
from ..release.paths import Paths
from ..release.states import REPLACING_KINDS, ROLLBACK_FAILED
from .committed import boots_what_was_committed, put_right
from .errors import ToolError
from .following import is_driven, watch
from .lost_starts import note_lost
from .opening import start_driver
from .say import complain, say
from .service_args import host_root

# To take back what nothing of lives any more is a matter of seconds. The unit's own limit is above this.
PATIENCE = 60.0
_LOOK = 1.0


def main(argv: Sequence[str]) -> int:
    """The verb; 1 when a service has trouble, the others are seen to all the same."""
    argparse.ArgumentParser(
        prog="vllm-host resume",
        description="Let every run that a restart of the host cut off end, start the driver of one that lost it, and "
        "note the ending of starts that were lost with the host. Where no run is open, damaged pointers are put right. "
        "systemd runs it at each start of Docker, before the services.",
    ).parse_args(argv)
    root = host_root()
    return 1 if resume([Paths(name, root) for name in state_folders(root)]) else 0


def resume(services: Iterable[Paths], *, runner: Runner = run, clock: Clock = CLOCK) -> list[str]:
    """See to every service; the names of those that have trouble."""
    troubled: list[str] = []
    ending: list[tuple[Paths, str]] = []
    for paths in services:
        try:
            ending += _begin(paths, runner, clock)
        except Exception as error:  # whatever it is, the other services are seen to
            troubled.append(_complain(paths, error))
    until = clock.monotonic() + PATIENCE
    for paths, run_id in ending:
        try:
            _await_end(paths, run_id, until - clock.monotonic(), runner, clock)
        except Exception as error:
            troubled.append(_complain(paths, error))
    return troubled


def _begin(paths: Paths, runner: Runner, clock: Clock) -> list[tuple[Paths, str]]:
    """Note lost starts and let the open run be driven; the run, when it has to end before the services start."""
    for seq in note_lost(paths, clock):
        say(f"{paths.service}: start {seq} was lost with its host")
    records = open_run(read_journal(paths).entries)
    if not records:
        if said := put_right(paths):
            say(f"{paths.service}: {said}")
        return []
    run_id = records[0].run
    of_this_boot = (read_if_there(paths.open_run) or "").strip() == run_id
    if not is_driven(paths, runner):
        boot = "it goes on" if of_this_boot else "the host restarted in the middle of it"
        say(f"{paths.service}: the run {run_id} has not ended, {boot}")
        start_driver(paths, runner=runner, clock=clock)
    return [] if of_this_boot else [(paths, run_id)]


def _await_end(paths: Paths, run_id: str, seconds: float, runner: Runner, clock: Clock) -> None:
    """Wait until a run of an earlier boot has ended, or does what waits for this program: ToolError for a bad end.

    One that goes back starts the service and proves it, which comes after this: it is enough that what boots is what
    was committed.
    """
    until = clock.monotonic() + seconds
    replaces = read_journal(paths).entries[-1].kind in REPLACING_KINDS
    while True:
        left = until - clock.monotonic()
        done = watch(paths, run_id, min(_LOOK, max(left, 0.0)), clock=clock, runner=runner)
        if done["finished"] or left <= 0:
            break
        if replaces and boots_what_was_committed(paths):
            say(f"{paths.service}: {link_name(paths.current)} boots, and the run {run_id} goes on with it")
            return
    if not done["finished"]:
        look = f"watch it with vllm-host status {paths.service}"
        raise ToolError(f"{paths.service}: the run {run_id} has not ended in {PATIENCE:.0f} s and goes on; {look}")
    if done["result"] == ROLLBACK_FAILED:
        raise ToolError(f"{done['summary']}; look at: vllm-host status {paths.service}")
    say(done["summary"])


def _complain(paths: Paths, error: Exception) -> str:
    known = isinstance(error, (ToolError, JournalError, OSError))
    said = str(error) if known else f"unexpected {type(error).__name__}: {error}"
    complain(f"vllm-host resume: {said if paths.service in said else f'{paths.service}: {said}'}")
    return paths.service
