# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One start as it is told by its lines: what was seen, in which order, by whom. It judges nothing (verdict.py does).

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import causes_hardware, causes_memory, causes_model, phases, signs
from .arguments import parse_arguments
from .cause import ANY, Kind, named
from .record import Record
from .slugs import UNKNOWN

_KINDS = (*causes_memory.KINDS, *causes_hardware.KINDS, *causes_model.KINDS)
_MAX_CAUSES = 400
_NEAR = 256 * 1024  # bytes: how far before the engine's death its cause can stand


@dataclass
class Cause:
    """A line that names a cause, as it was met."""

    slug: str
    strength: int
    soft: bool
    fatal: bool
    process: str
    line: str
    offset: int
    details: dict[str, Any]
    after_ready: bool


@dataclass
class Story:
    """Everything that a verdict needs of one start; positions are offsets in the text, None where it did not happen."""

    kinds: set[str] = field(default_factory=set)
    version: str | None = None
    engine: str | None = None
    config_model: str | None = None
    banner_model: str | None = None
    arguments: dict[str, Any] | None = None
    namespace_model: str | None = None
    complete: int | None = None
    served: int | None = None
    stop: int | None = None
    death: int | None = None
    fatal: int | None = None
    sigterm: int | None = None
    sigint: int | None = None
    killed: int | None = None
    template: int | None = None
    last_milestone: str | None = None
    initialised: bool = False
    server: bool = False
    moved: int | None = None
    causes: list[Cause] = field(default_factory=list)
    consequence: str | None = None
    marks: dict[str, str] = field(default_factory=dict)
    request_error: str | None = None
    loud: str | None = None
    _frames: dict[str, str | None] = field(default_factory=dict)
    _seen: set[tuple[str, str]] = field(default_factory=set)

    @property
    def ready(self) -> int | None:
        """Where the server said or showed that it serves."""
        known = [offset for offset in (self.complete, self.served) if offset is not None]
        return min(known, default=None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a start was seen: the words before the first one."""
        happened = (self.ready, self.fatal, self.killed, self.sigterm, self.sigint, self.stop, self.death)
        return not (self.kinds or self.causes or self.last_milestone or any(item is not None for item in happened))

    @property
    def is_over(self) -> bool:
        """Whether it has gone so far that another header is of another start."""
        ended = (self.fatal, self.killed, self.sigterm, self.sigint, self.stop, self.death, self.ready)
        return any(cause.fatal for cause in self.causes) or any(item is not None for item in ended)

    def begins_another(self, record: Record) -> bool:
        """Whether a line is the header of the next start."""
        name = header(record.text)
        if name is None or self.is_empty:
            return False
        if name == "engine":  # several engines of one start print it too
            ended = (self.fatal, self.killed, self.stop, self.death)
            return any(item is not None for item in ended)
        return name in self.kinds and name != "args" or self.is_over or "engine" in self.kinds and name != "args"

    def take(self, record: Record, offset: int) -> None:
        """Take one line."""
        text = record.text
        self._header(record)
        self._milestone(record, offset)
        if record.is_frame or signs.TRACEBACK in text:
            self._frame(record)
        if not record.is_frame:
            self._signs(record, offset)
        self._cause(record, offset)

    def _header(self, record: Record) -> None:
        text = record.text
        name = header(text)
        if name is None:
            found = signs.BANNER_MODEL.search(text)
            self.banner_model = found["model"] if found else self.banner_model
            return
        self.kinds.add(name)
        if name == "engine":
            engine = signs.ENGINE.search(text)
            if engine:
                self.version, self.engine = engine["version"] or self.version, engine["generation"] or "V0"
            model = signs.CONFIG_MODEL.search(text)
            self.config_model = model["model"] if model else self.config_model
            return
        self.server = True
        if name in ("version", "banner"):
            version = signs.VERSION.search(text)
            self.version = self.version or (version and (version["api"] or version["banner"])) or None
        elif signs.ARGUMENTS in text:
            self.arguments = self.arguments or parse_arguments(text.split(signs.ARGUMENTS, 1)[1])
        else:
            models = {match["key"]: match["model"] for match in signs.NAMESPACE_MODEL.finditer(text)}
            self.namespace_model = models.get("model_tag") or models.get("model") or self.namespace_model

    def _milestone(self, record: Record, offset: int) -> None:
        name = phases.milestone(record.text)
        if name is None or record.level in ("ERROR", "CRITICAL"):
            return
        self.server = self.server or name == "opening"
        self.initialised = self.initialised or name == "initialised"
        if self.ready is None:
            rank = phases.RANK[name]
            if rank >= phases.RANK.get(self.last_milestone or "", -1):
                self.last_milestone = name
            if (record.process, name) not in self._seen:
                self._seen.add((record.process, name))
                self._survived(record, rank)

    def _survived(self, record: Record, rank: int) -> None:
        """A start that goes on has survived its earlier errors: all of the process itself, and those of others that
        would have ended it."""
        everywhere = rank >= phases.RANK["initialised"]
        self.causes = [
            cause
            for cause in self.causes
            if not (everywhere or cause.process == record.process or not signs.OF_THE_ENGINE.search(cause.process))
        ]
        self._frames.pop(record.process, None)
        if everywhere or not any(cause.fatal for cause in self.causes):
            self.fatal = self.consequence = self.loud = None
            self.moved = None

    def _frame(self, record: Record) -> None:
        if signs.TRACEBACK in record.text:
            self._frames[record.process] = None
        self._frames[record.process] = phases.of_frames(self._frames.get(record.process), record.text)

    def _signs(self, record: Record, offset: int) -> None:
        text = record.text
        if signs.COMPLETE in text:
            self.complete = offset if self.complete is None else self.complete
            self.server = True
        if signs.SERVED.search(record.whole) and not text.startswith("{"):
            self.served = offset if self.served is None else self.served
        if signs.STOP.search(text):
            self._mark("stop", offset, record)
        own = signs.OWN_SIGNAL.search(text)
        if signs.SIGTERM.search(text) and not own:
            self._mark("sigterm", offset, record)
        elif signs.SIGINT.search(text) and not own or signs.INTERRUPT.search(text):
            self._mark("sigint", offset, record)
        if signs.KILLED.search(text):
            self._mark("killed", offset, record)
        if signs.FATAL.search(text):
            self._mark("fatal", offset, record)
        if signs.DEATH.search(text) and self.ready is not None or self.initialised and signs.DEATH.search(text):
            self._mark("death", offset, record)
        if signs.CONSEQUENCE.search(text) and not record.level.startswith(("INFO", "DEBUG")):
            self.consequence = self.consequence or record.whole
        elif record.level in ("ERROR", "CRITICAL") and not signs.FATAL.search(text) and signs.TRACEBACK not in text:
            self._loud(record)

    def _loud(self, record: Record) -> None:
        """An error of nobody's list: the first one of the engine, the last one of a request."""
        if self.ready is not None and not signs.OF_THE_ENGINE.search(record.process):
            self.request_error = record.whole
        elif self.loud is None and record.text.strip():
            self.loud = record.whole

    def _mark(self, name: str, offset: int, record: Record) -> None:
        if getattr(self, name) is None:
            setattr(self, name, offset)
            self.marks.setdefault(name, record.whole)

    def _cause(self, record: Record, offset: int) -> None:
        if len(self.causes) >= _MAX_CAUSES:
            self._forget(offset)
            if len(self.causes) >= _MAX_CAUSES:
                return
        exception = None if record.is_frame else signs.EXCEPTION.search(record.text)
        loud = record.level in ("ERROR", "CRITICAL")
        quiet = record.level in ("INFO", "DEBUG", "WARNING") and not exception
        recovered = bool(signs.RECOVERED.search(record.text)) and not exception
        guessed = bool(signs.GUESS.search(record.text)) and not exception
        found = None if guessed else self._kind(record, loud or bool(exception), quiet)
        if found is not None:
            kind, details = found
            bound = kind.slug == "port_in_use" and not record.stamp  # uvicorn reports it, and ends
            fatal = not kind.soft and (bool(exception) or kind.raw or bound or not record.level) and not recovered
            self._keep(kind.slug, kind.strength, kind.soft, fatal, record, offset, details)
        elif exception and not signs.CONSEQUENCE.search(record.text) and not signs.INTERRUPT.search(record.text):
            if not signs.SIGTERM.search(record.text):
                self._keep(UNKNOWN, ANY, False, not recovered, record, offset, {})

    def _kind(self, record: Record, counts: bool, quiet: bool) -> tuple[Kind, dict[str, Any]] | None:
        for kind in _KINDS:
            if not (
                kind.soft
                or counts
                and not (record.is_frame and record.level)
                or kind.raw
                and not quiet
                or not record.level
                and kind.raw
            ):
                continue
            if not kind.raw and (record.is_frame or not counts):
                continue
            match = kind.match(record.text)
            if match:
                return kind, named(match)
        return None

    def _keep(
        self, slug: str, strength: int, soft: bool, fatal: bool, record: Record, offset: int, details: dict[str, Any]
    ) -> None:
        if slug == causes_memory.OUT_OF_MEMORY:
            frames = phases.of_frames(self._frames.get(record.process), record.text)
            slug = phases.oom_slug(frames, self.last_milestone)
        ready = self.ready is not None
        if slug == "chat_template_missing":
            self.template = offset if self.template is None else self.template
            self.marks.setdefault("template", record.whole)
            if ready or not fatal:
                return
        cause = Cause(slug, strength, soft, fatal, record.process, record.whole, offset, details, ready)
        self.causes.append(cause)

    def _forget(self, offset: int) -> None:
        """Requests fail without end: what is too old to have ended the engine is let go."""
        self.causes = [cause for cause in self.causes if not cause.after_ready or offset - cause.offset <= _NEAR]

    def near_death(self) -> list[Cause]:
        """What can have ended an engine that was ready: its own processes' errors, others' only just before it."""
        death = self.death if self.death is not None else 0
        return [
            cause
            for cause in self.causes
            if (cause.after_ready or cause.slug.startswith("oom"))
            and (signs.OF_THE_ENGINE.search(cause.process) or (cause.strength > ANY and death - _NEAR <= cause.offset))
        ]


def header(text: str) -> str | None:
    """Which of the headers of a start a line is: ``version``, ``args``, ``engine``."""
    if signs.ENGINE.search(text):
        return "engine"
    if signs.VERSION.search(text):
        return "banner" if "\u2588" in text else "version"
    if signs.ARGUMENTS in text or signs.NAMESPACE.search(text):
        return "args"
    return None
