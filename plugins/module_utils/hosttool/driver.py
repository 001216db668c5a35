# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Drive a run to its end: ask the machine for the next step, journal the intent, do it, journal the outcome.

What cannot be journalled is not done: an error of the journal ends the driver, and the next one goes on from there.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..io import systemd
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import link_name, read_if_there, remove
from ..io.journals import append_entry, read_journal
from ..release import journal, states
from ..release.ending import host_stops
from ..release.journal import DONE, FAILED, INTENT, Entry
from ..release.machine import Observed, Step, next_step
from ..release.paths import Paths
from ..release.view import step_line
from . import rotating
from .draining.drain import drain
from .going_back import give_up
from .lost_starts import is_of_an_earlier_boot
from .notifying import notify
from .preflight import preflight
from .proving import soak, verify
from .starting import start
from .steps import Action, Context, Outcome, StepFailed
from .stopping import stop
from .switching import commit, roll_back, switch

ACTIONS: Mapping[str, Action] = {
    states.PREFLIGHTED: preflight,
    states.DRAINING: drain,
    states.STOPPED: stop,
    states.SWITCHED: switch,
    states.STARTING: start,
    states.VERIFYING: verify,
    states.SOAKING: soak,
    states.COMMITTED: commit,
    states.ROLLING_BACK: roll_back,
    states.ROLLBACK_FAILED: give_up,
}


class HostStops(Exception):
    """The host goes down in the middle of a step: the next boot decides, and nothing of it is the release's fault."""


class Driver:
    """Drives the one open run of a service; the caller holds the lease."""

    def __init__(
        self,
        paths: Paths,
        *,
        actions: Mapping[str, Action] | None = None,
        runner: Runner = run,
        clock: Clock = CLOCK,
    ) -> None:
        self._paths = paths
        self._actions = ACTIONS if actions is None else actions
        self._runner = runner
        self._clock = clock

    def drive(self) -> str | None:
        """Do steps until the run has ended; how it ended, or None when there was no open run."""
        records = journal.open_run(read_journal(self._paths).entries)
        if not records:
            return None
        while step := next_step(records, self._observed(records)):
            records = self._do(records, step)
        remove(self._paths.open_run)
        if records[0].kind == states.ROTATE:
            rotating.let_go(self._paths)
        return journal.outcome(records)

    def _observed(self, records: tuple[Entry, ...]) -> Observed:
        here = (read_if_there(self._paths.open_run) or "").strip()
        return Observed(
            same_boot=here == records[0].run,
            last_good=link_name(self._paths.last_good),
            start_lost=is_of_an_earlier_boot(self._paths, self._context(records).found(states.STARTING).get("seq")),
        )

    def _do(self, records: tuple[Entry, ...], step: Step) -> tuple[Entry, ...]:
        if not step.has_effects:
            return self._append(records, step.state, DONE, Outcome(step.reason))
        records = self._append(records, step.state, INTENT, Outcome(step.reason))
        began = self._clock.monotonic()
        try:
            outcome = self._actions[step.state](self._context(records))
            phase = DONE
        except StepFailed as error:
            outcome, phase = Outcome(str(error), error.data), FAILED
        except Exception as error:  # a step that breaks is a step that failed; the run still has to end well
            outcome, phase = Outcome(f"unexpected {type(error).__name__}: {error}"), FAILED
        if phase == FAILED and host_stops(systemd.jobs(runner=self._runner)):
            raise HostStops(outcome.message)
        took = round(self._clock.monotonic() - began, 2)
        return self._append(records, step.state, phase, Outcome(outcome.message, {**outcome.data, "took": took}))

    def _context(self, records: tuple[Entry, ...]) -> Context:
        return Context(self._paths, journal.opening(records), records, self._runner, self._clock)

    def _append(self, records: tuple[Entry, ...], state: str, phase: str, outcome: Outcome) -> tuple[Entry, ...]:
        first = records[0]
        entry = Entry(
            at=self._clock.now(),
            run=first.run,
            kind=first.kind,
            state=state,
            phase=phase,
            release=first.release,
            message=outcome.message,
            data=dict(outcome.data),
        )
        append_entry(self._paths, entry)
        context = self._context((*records, entry))
        line = step_line(entry)
        if line:
            context.say(line)
        notify(context)
        return (*records, entry)
