# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One start as its lines tell it: what was seen, in which order, by whom. It judges nothing (verdict.py does).

Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from . import phases, signs
from .arguments import parse_arguments
from .record import Record
from .suspects import Suspects

# What ends a start, or shows that it served: afterwards another header is of another start.
COMPLETE, SERVED, STOP, SIGTERM, SIGINT, KILLED, FATAL, DEATH, TEMPLATE = (
    "complete", "served", "stop", "sigterm", "sigint", "killed", "fatal", "death", "template",
)  # fmt: skip
_ENDS = (STOP, KILLED, FATAL, DEATH)
_LOUD = ("ERROR", "CRITICAL")
_HEAD = 400  # characters: what is said of the fate of a start stands at the begin of a line
_ENGINE_UP = phases.RANK["initialised"]


@dataclass(frozen=True)
class Mark:
    """Where something first happened in the text, and the line that says so."""

    offset: int
    line: str


@dataclass
class Story:
    """Everything that a verdict needs of one start."""

    headers: set[str] = field(default_factory=set)
    version: str | None = None
    engine: str | None = None
    arguments: dict[str, Any] | None = None
    models: dict[str, str] = field(default_factory=dict)
    milestone: str | None = None
    initialised: bool = False
    given_up: bool = False
    serves_http: bool = False
    marks: dict[str, Mark] = field(default_factory=dict)
    suspects: Suspects = field(default_factory=Suspects)
    consequence: Mark | None = None
    loud: str | None = None
    request_error: str | None = None
    _seen: set[tuple[str, str]] = field(default_factory=set)

    def at(self, name: str) -> int | None:
        """Where something happened, or None."""
        mark = self.marks.get(name)
        return mark.offset if mark else None

    def line(self, name: str) -> str | None:
        """The line of a mark, or None."""
        mark = self.marks.get(name)
        return mark.line if mark else None

    @property
    def ready(self) -> int | None:
        """Where the server first said or showed that it serves."""
        return min((self.marks[name].offset for name in (COMPLETE, SERVED) if name in self.marks), default=None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing of a start was seen: the words before the first one."""
        return not (self.headers or self.suspects.causes or self.milestone or self.marks)

    @property
    def model(self) -> str | None:
        """The model as the engine names it, else as it was asked for."""
        given = self.arguments or {}
        asked = given.get("model_tag") or given.get("model")
        return self.models.get("engine") or (
            str(asked) if asked else self.models.get("args") or self.models.get("banner")
        )

    def begins_another(self, record: Record) -> bool:
        """Whether a line is the header of the next start."""
        name = header(record.text)
        if name is None or self.is_empty:
            return False
        if name == "engine":  # several engines of one start print it too
            return any(mark in self.marks for mark in _ENDS)
        if self.suspects.any_fatal or self.marks:
            return True
        return name != "args" and (name in self.headers or "engine" in self.headers)

    def take(self, record: Record, offset: int) -> bool:
        """Take one line; whether it says anything."""
        head = record._replace(text=record.text[:_HEAD])
        told = [self._header(record.text), self._milestone(head), record.is_frame]
        if not record.is_frame:
            told += [self._signs(head, offset), self._error(head, offset)]
        cause = self.suspects.take(record, offset, self.milestone, ready=self.ready is not None)
        if cause is not None and cause.slug == "chat_template_missing":
            self._mark(TEMPLATE, offset, record)
        return any(told) or cause is not None

    def _header(self, text: str) -> bool:
        name = header(text)
        if name is None:
            return self._model("banner", signs.BANNER_MODEL.search(text))
        self._of_header(name, text)
        return True

    def _of_header(self, name: str, text: str) -> None:
        self.headers.add(name)
        if name == "engine":
            found = signs.ENGINE.search(text)
            if found:
                self.version, self.engine = found["version"] or self.version, found["generation"] or "V0"
            self._model("engine", signs.CONFIG_MODEL.search(text))
            return
        self.serves_http = True
        found = signs.VERSION.search(text)
        self.version = self.version or (found and (found["api"] or found["banner"])) or None
        self._model("banner", signs.BANNER_MODEL.search(text))
        if signs.ARGUMENTS in text:
            self.arguments = self.arguments or parse_arguments(text.split(signs.ARGUMENTS, 1)[1])
        elif name == "args":
            models = {match["key"]: match for match in signs.NAMESPACE_MODEL.finditer(text)}
            self._model("args", models.get("model_tag") or models.get("model"))

    def _model(self, where: str, found: re.Match[str] | None) -> bool:
        if found:
            self.models[where] = found["model"]
        return bool(found)

    def _milestone(self, record: Record) -> bool:
        name = phases.milestone(record.text)
        if name is not None and record.level not in _LOUD:
            self._reach(name, record)
        return name is not None

    def _reach(self, name: str, record: Record) -> None:
        self.serves_http = self.serves_http or name == "opening"
        self.initialised = self.initialised or name == "initialised"
        if self.ready is not None:
            return
        rank = phases.RANK[name]
        if rank >= phases.RANK.get(self.milestone or "", -1):
            self.milestone = name
        if (record.process, name) not in self._seen:
            self._seen.add((record.process, name))
            self._goes_on(record.process, by_all=rank >= _ENGINE_UP)

    def _goes_on(self, process: str, *, by_all: bool) -> None:
        if self.given_up:
            return
        self.suspects.survived(process, by_all=by_all)
        if by_all or not self.suspects.any_fatal:
            self.marks.pop(FATAL, None)
            self.consequence = self.loud = None

    def _signs(self, record: Record, offset: int) -> bool:
        text = record.text
        self.given_up = self.given_up or bool(signs.GIVEN_UP.search(text))
        self.serves_http = self.serves_http or signs.COMPLETE in text
        told = list(signs.of(text))
        if signs.SERVED.search(record.said) and not text.startswith("{"):
            told.append(SERVED)
        for name in told:
            if name != DEATH or self.ready is not None or self.initialised:
                self._mark(name, offset, record)
        return bool(told)

    def _mark(self, name: str, offset: int, record: Record) -> None:
        self.marks.setdefault(name, Mark(offset, record.whole))

    def _error(self, record: Record, offset: int) -> bool:
        """An error of nobody's list: the first one of the engine, the last one of a request."""
        if record.level in ("DEBUG", "INFO"):
            return False
        if signs.CONSEQUENCE.search(record.text):
            self.consequence = self.consequence or Mark(offset, record.whole)
            return True
        if record.level not in _LOUD or signs.FATAL.search(record.text) or signs.TRACEBACK in record.text:
            return False
        if self.ready is not None and not signs.OF_THE_ENGINE.search(record.process):
            self.request_error = record.whole
        elif record.text.strip():
            self.loud = self.loud or record.whole
        return True


def header(text: str) -> str | None:
    """Which of the headers of a start a line is: version, banner, args, engine."""
    if signs.ENGINE.search(text):
        return "engine"
    if signs.VERSION.search(text):
        return "banner" if "\u2588" in text else "version"
    return "args" if signs.ARGUMENTS in text or signs.NAMESPACE.search(text) else None
