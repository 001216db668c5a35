# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What every step of a run gets, gives and raises.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import append_line
from ..io.releases import read_record
from ..release.journal import Entry
from ..release.paths import Paths
from ..release.record import RecordError, ReleaseRecord


class StepFailed(Exception):
    """A state could not be reached; the message says why, ``data`` is kept with it."""

    def __init__(self, message: str, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.data = dict(data or {})


@dataclass(frozen=True)
class Outcome:
    """What a reached state leaves in the journal."""

    message: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """One run on this host: its first record, everything recorded so far, and the edges."""

    paths: Paths
    opening: Entry
    records: tuple[Entry, ...]
    runner: Runner = run
    clock: Clock = CLOCK

    @property
    def release(self) -> str:
        """The release that the run is about."""
        if not self.opening.release:
            raise StepFailed(f"run {self.opening.run} names no release")
        return self.opening.release

    def record(self) -> ReleaseRecord:
        """The release of the run as it was staged here; StepFailed when it is gone or was edited."""
        return self.record_of(self.release)

    def record_of(self, release: str) -> ReleaseRecord:
        """A release as it was staged here; StepFailed when it is gone or was edited."""
        try:
            record = read_record(self.paths, release)
        except (RecordError, ValueError) as error:
            raise StepFailed(f"{release}: {error}; stage it again with deploy") from error
        if record is None:
            raise StepFailed(f"{release} is not staged on this host; stage it with deploy")
        return record

    def found(self, state: str) -> dict[str, Any]:
        """What the last reached ``state`` of this run recorded."""
        for entry in reversed(self.records):
            if entry.state == state and entry.data:
                return dict(entry.data)
        return {}

    def told(self, name: str) -> Any:
        """What the run was opened with, or knew of the time before it."""
        return self.opening.data.get(name)

    def say(self, text: str) -> None:
        """Tell the people who watch."""
        append_line(self.paths.progress, text)


Action = Callable[[Context], Outcome]
