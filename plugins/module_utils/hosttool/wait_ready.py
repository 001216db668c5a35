# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""ExecStartPost, the gate: wait until the engine serves, or say within a second why it never will.

systemd's own limit is extended only while the log moves; the hard deadline is kept here. A start that did not become
ready leaves no running engine: one that loads ignores SIGTERM, so it gets a short grace and is killed.
Private to the collection.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from types import FrameType

from ..io import commands, containers, kept_log, notify, starts, systemd
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner
from ..io.files import append_line, read_if_there
from ..release.bounded import HeadTail
from ..release.gate import (
    CANCELLED,
    DEAD,
    EXTENSION_MARGIN,
    READY,
    Gate,
    Moment,
    extension,
    hard_deadline,
    judge_start,
)
from ..release.paths import Paths
from ..startup.parse import parse_startup_log
from ..startup.progress import Progress
from . import engine
from .errors import ToolError
from .keeping import Keeper, note, redactor_of, secrets_of
from .probe import Prober
from .process import MainProcess
from .say import complain
from .service_args import parser, paths_of
from .stop_engine import gate_of_current

_LOOK = 0.2
_TELL = 5.0
_LOG_TRIES, _LOG_PAUSE = 8, 0.05
# How long a verdict may wait for an engine that has printed more than could be read so far.
_CATCH_UP = 5.0
# Of a log of any length this is enough for the verdict, which must not wait for all of it to be read.
_FIRST_BYTES, _LAST_BYTES = 512 << 10, 256 << 10


def main(argv: Sequence[str]) -> int:
    """The verb."""
    args = parser("wait-ready", "wait until the engine serves (called by the unit)").parse_args(argv)
    paths = paths_of(args.service)
    seq = starts.of_invocation(paths, os.environ.get("INVOCATION_ID", "")) or starts.latest(paths)
    if seq is None:
        raise ToolError(f"{paths.service}: there is no start to wait for; vllm-host before-start comes first")
    watch = Watch(paths, seq)
    signal.signal(signal.SIGTERM, watch.cancel)
    signal.signal(signal.SIGINT, watch.cancel)
    return watch.run()


class Watch:
    """One start under way."""

    def __init__(
        self,
        paths: Paths,
        seq: int,
        *,
        environ: Mapping[str, str] | None = None,
        clock: Clock = CLOCK,
        runner: Runner = commands.run,
    ) -> None:
        self._paths = paths
        self._seq = seq
        self._clock = clock
        self._runner = runner
        self._gate: Gate = gate_of_current(paths)
        self._deadline = hard_deadline(self._gate, _last_measured(paths, seq))
        self._main = MainProcess((os.environ if environ is None else environ).get("MAINPID"))
        self._began = float(starts.read(paths, seq).get("begun_monotonic") or clock.monotonic())
        self._moved = clock.monotonic()
        self._told = 0.0
        self._progress = Progress()
        self._keeper = Keeper(paths, seq, kept_log.PART)
        self._first: list[str] = []
        self._last = HeadTail(self._first.append, _FIRST_BYTES, _LAST_BYTES)
        self._stage = ""
        self._cancelled = False
        self._log: containers.LogStream | None = None
        secrets = secrets_of(paths)
        self._redactor = redactor_of(paths)
        self._prober = Prober(self._gate.url, self._gate.served_names, secrets.get("VLLM_API_KEY"))

    def cancel(self, _signal: int, _frame: FrameType | None) -> None:
        """Somebody stops the unit in mid-gate."""
        self._cancelled = True

    def run(self) -> int:
        """Watch to the verdict, note it, and leave nothing of a start that failed; the exit status of the verb."""
        self._prober.start()
        try:
            verdict, reason = self._wait()
            if verdict == READY:
                self._keep_ready(reason)
            else:
                self._keep_failed(verdict, reason)
        finally:
            self._prober.close()
            if self._log is not None:
                self._log.close()
        return 0 if verdict == READY else 1

    def _wait(self) -> tuple[str, str]:
        while True:
            more = self._follow_log()
            moment = self._moment()
            verdict = judge_start(moment, self._gate, self._deadline)
            if verdict:
                return verdict
            self._tell(moment)
            if not more:  # an engine that prints thousands of lines a second is followed without a pause
                self._clock.sleep(_LOOK)

    def _moment(self) -> Moment:
        now = self._clock.monotonic()
        alive = self._main.lives()
        stage = self._stage if not self._prober.said else f"{self._stage}; {self._prober.said}".lstrip("; ")
        return Moment(now - self._began, now - self._moved, alive, self._prober.ready, self._cancelled, stage)

    def _follow_log(self) -> bool:
        """Take new lines, and say if there were any; the container's id is known as soon as Docker has made it."""
        if self._log is None:
            container_id = self._container()
            if not container_id:
                return False
            note(self._paths, self._seq, {"container_id": container_id})
            self._log = containers.LogStream(container_id)
        lines = [self._keeper.add(line) for line in self._log.read()]
        for line in lines:
            self._last.add(line)
        self._keeper.flush()
        moved = [self._progress.feed(line) for line in lines]
        if any(moved):
            self._moved = self._clock.monotonic()
            self._new_stage()
        return bool(lines)

    def _new_stage(self) -> None:
        if self._progress.stage != self._stage:
            self._stage = self._progress.stage
            self._told = 0.0
            if self._paths.open_run.exists():
                append_line(self._paths.progress, f"starting: {self._stage}")

    def _tell(self, moment: Moment) -> None:
        now = self._clock.monotonic()
        if now - self._told < _TELL:
            return
        self._told = now
        stage = " ".join(word for word in (moment.stage or "waiting for the engine", self._progress.detail) if word)
        text = self._redactor.line(f"{stage} ({moment.elapsed:.0f} s of {self._deadline:.0f} s at most)")
        notify.status(text, extension(moment, self._gate, self._deadline))

    def _keep_ready(self, reason: str) -> None:
        seconds = round(self._clock.monotonic() - self._began, 2)
        fields = {"ready": True, "verdict": READY, "reason": reason, "ready_at": self._clock.now()}
        note(self._paths, self._seq, {**fields, "ready_seconds": seconds})
        self._drain_log()
        self._keep_what_was_seen()
        engine.clean_cache(self._paths)
        notify.status(f"serving since {self._clock.now()}; {reason}")

    def _keep_failed(self, verdict: str, reason: str) -> None:
        """Note the verdict, then leave no engine that still loads; after-stop keeps the log and removes it."""
        cause = "" if verdict == CANCELLED else self._cause(verdict)
        said = self._redactor.line(reason + (f": {cause}" if cause else ""))
        fields = {"ready": False, "verdict": verdict, "reason": said, "verdict_at": self._clock.now()}
        note(self._paths, self._seq, fields)
        complain(f"{self._paths.service}: {said}")
        notify.status(said, engine.SHORT_GRACE + EXTENSION_MARGIN)
        self._keep_what_was_seen()
        container_id = self._container()
        if container_id and verdict != DEAD:
            containers.stop(container_id, engine.SHORT_GRACE, runner=self._runner)

    def _keep_what_was_seen(self) -> None:
        """Keep the log as far as it was followed: a container that somebody removes takes its own log with it.

        It also is the one with the beginning, when Docker lets go of it in the course of a long life.
        """
        if self._last.lines:
            note(self._paths, self._seq, self._keeper.finish())

    def _cause(self, verdict: str) -> str:
        """The first real error of the engine's log; of one that has ended without, what Docker knows."""
        if verdict == DEAD:
            self._drain_log()
        first = parse_startup_log([*self._first, *self._last.tail()]).first_error_line
        return first or (self._how_it_ended() if verdict == DEAD else "")

    def _how_it_ended(self) -> str:
        if not self._container():  # it never ran: Docker's client said why
            return " ".join(systemd.said_by_main(self._invocation(), runner=self._runner)[-3:])
        try:
            state = containers.inspect(self._container(), runner=self._runner)
        except containers.DockerError as error:
            return f"Docker does not answer: {error}"
        if state is None:
            return "its container was removed"
        if state.is_running:
            return "Docker's client ended, the container did not"
        oom = ", killed for memory" if state.oom_killed else ""
        return state.error or f"exit code {state.exit_code}{oom}, no error in its log"

    def _drain_log(self) -> None:
        """Take what the log still says: it can end a moment after the process did, or be long."""
        until = self._clock.monotonic() + _CATCH_UP
        for _try in range(_LOG_TRIES):
            while self._follow_log() and self._clock.monotonic() < until:
                pass
            if self._log is None or self._log.ended or self._main.lives():
                break
            self._clock.sleep(_LOG_PAUSE)
        self._follow_log()

    def _container(self) -> str:
        return (read_if_there(self._paths.cid) or "").strip()

    def _invocation(self) -> str:
        return str(starts.read(self._paths, self._seq).get("invocation_id") or "")


def _last_measured(paths: Paths, seq: int) -> float | None:
    """Seconds of the newest earlier start that became ready."""
    for earlier in reversed([number for number in starts.numbers(paths) if number < seq]):
        seconds = starts.read(paths, earlier).get("ready_seconds")
        if isinstance(seconds, (int, float)):
            return float(seconds)
    return None
