# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The lines of one start that name a cause, as they come; which of them it was is judged later (verdict.py).

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import causes_hardware, causes_memory, causes_model, phases, signs
from .cause import ANY, GENERAL, Kind, named
from .record import Record
from .slugs import UNKNOWN

_KINDS = (*causes_memory.KINDS, *causes_hardware.KINDS, *causes_model.KINDS)
_EVERY_EXCEPTION = Kind(UNKNOWN, (), signs.EXCEPTION, ANY)
_OF_A_ROOM = {slug: Kind(slug, (), signs.EXCEPTION, GENERAL) for slug in signs.ROOMS}
_MOST = 400
_NEAR = 256 * 1024  # bytes: how far before the engine's death its cause can stand


@dataclass(frozen=True)
class Cause:
    """A line that names a cause; ``fatal`` where such a line is the end of the process that wrote it."""

    slug: str
    kind: Kind
    fatal: bool
    process: str
    text: str
    line: str
    offset: int
    details: dict[str, Any]
    after_ready: bool


@dataclass
class Suspects:
    """All causes that were named and not survived."""

    causes: list[Cause] = field(default_factory=list)
    _frames: dict[str, str | None] = field(default_factory=dict)
    _rooms: dict[str, str | None] = field(default_factory=dict)

    def take(self, record: Record, offset: int, milestone: str | None, *, ready: bool) -> Cause | None:
        """Look at a line; the cause that it names, which is kept."""
        if record.is_frame or signs.TRACEBACK in record.text:
            self._follow(record)
        found = self._kind_of(record) if self._has_room(offset, ready=ready) else None
        if found is None:
            return None
        kind, details, fatal = found
        slug = kind.slug
        if slug == causes_memory.OUT_OF_MEMORY:
            frames = phases.of_frames(self._frames.get(record.process), record.text)
            slug = phases.oom_slug(frames, "initialised" if ready else milestone)
        cause = Cause(slug, kind, fatal, record.process, record.text, record.whole, offset, details, ready)
        self.causes.append(cause)
        return cause

    def survived(self, process: str, *, by_all: bool) -> None:
        """The start went on: what this process met was not its end, nor what would have ended everything."""
        self.causes = [
            cause
            for cause in self.causes
            if not (by_all or cause.process == process) and signs.OF_THE_ENGINE.search(cause.process)
        ]
        self._frames.pop(process, None)
        self._rooms.pop(process, None)

    @property
    def any_fatal(self) -> bool:
        """Whether one of them was the end of its process."""
        return any(cause.fatal for cause in self.causes)

    def hard(self) -> list[Cause]:
        """Those that are no mere warnings."""
        return [cause for cause in self.causes if not cause.kind.soft]

    def before_death(self, death: int | None) -> list[Cause]:
        """What can have ended an engine that was ready: its own processes' errors, and known ones just before."""
        since = (death or 0) - _NEAR
        return [
            cause
            for cause in self.hard()
            if cause.slug != "chat_template_missing"
            and (cause.after_ready or cause.slug.startswith("oom"))
            and (signs.OF_THE_ENGINE.search(cause.process) or (cause.kind.strength > ANY and since <= cause.offset))
        ]

    def _follow(self, record: Record) -> None:
        """Remember what the traceback of a process shows of its phase."""
        before = None if signs.TRACEBACK in record.text else self._frames.get(record.process)
        self._frames[record.process] = phases.of_frames(before, record.text)
        known = None if signs.TRACEBACK in record.text else self._rooms.get(record.process)
        self._rooms[record.process] = signs.room_of(record.text) or known

    def _has_room(self, offset: int, *, ready: bool) -> bool:
        """Requests fail without end: what is too old to have ended the engine is let go."""
        if ready and len(self.causes) >= _MOST:
            self.causes = [cause for cause in self.causes if not cause.after_ready or offset - cause.offset <= _NEAR]
        return len(self.causes) < _MOST

    def _kind_of(self, record: Record) -> tuple[Kind, dict[str, Any], bool] | None:
        """(kind, what is named, whether it ended the process)."""
        exception = (
            None if record.is_frame else (signs.EXCEPTION.search(record.text) or signs.OF_DOCKER.search(record.text))
        )
        survives = bool(signs.RECOVERED.search(record.text)) and not exception
        for kind in () if signs.GUESS.search(record.text) and not exception else _KINDS:
            match = kind.match(record.text) if _counts(kind, record, bool(exception)) else None
            if match:
                fatal = not kind.soft and not survives and (bool(exception) or _ends(kind, record))
                return kind, named(match), fatal
        if (
            exception
            and exception.re is signs.EXCEPTION
            and not any(pattern.search(record.text) for pattern in _NO_CAUSE)
        ):
            room = self._rooms.get(record.process)
            return (_OF_A_ROOM[room] if room else _EVERY_EXCEPTION), {}, not survives
        return None


_NO_CAUSE = (signs.CONSEQUENCE, signs.INTERRUPT, signs.SIGTERM)


def _counts(kind: Kind, record: Record, exception: bool) -> bool:
    """Whether a text of this kind means something in such a line."""
    quiet = record.level in ("DEBUG", "INFO", "WARNING") and not exception
    if kind.soft or kind.raw:
        return kind.soft or not quiet
    return not record.is_frame and (exception or record.level in ("ERROR", "CRITICAL"))


def _ends(kind: Kind, record: Record) -> bool:
    """Whether a line that is no exception ends its process; uvicorn reports a taken port so, without a time."""
    return kind.raw or not record.level or (kind.slug == "port_in_use" and not record.stamp)
