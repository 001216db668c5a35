# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read what a start of vLLM said about itself, whatever the release and the way the log took: one pass, constant memory.

Private to the collection.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from . import signs
from .blocks import Lines, Source, blocks
from .facts import Facts
from .lines import redact
from .record import Record, records
from .remedies import remedy
from .report import STARTING, StartupReport, startup_from_dict
from .story import Story
from .verdict import Verdict, judge
from .wrapping import unwrapped, width

__all__ = ["StartupReport", "parse_startup_log", "startup_from_dict"]

_SETTLED_AFTER = 1 << 20  # bytes after the server was ready
_MAX_LINE_SHOWN = 2000
_MAX_STARTS = 100
_HEAD, _TAIL = 4000, 2000


def parse_startup_log(source: Source) -> StartupReport:
    """Read the text of a log (str, bytes, lines, or a stream of bytes in any pieces)."""
    forward = _Reader()
    lines = Lines(forward.take, forward.settled)
    at: int | None = None
    for number, block in enumerate(blocks(source)):
        if number == 0:
            at = width(block.decode("utf-8", "replace"))
        lines.feed(unwrapped(block, at) if at else block)
    if forward.order.newest_first:
        backward = _Reader()
        for place, line in enumerate(forward.order.turned()):
            backward.take(line, place)
        backward.facts = forward.facts if not backward.order.left_out else forward.facts
        return backward.report(turned=True)
    return forward.report()


class _Order:
    """Which way the log runs; the first and the last lines, to read them the other way round."""

    def __init__(self) -> None:
        self.later = self.earlier = self.upwards = self.downwards = 0
        self.left_out = 0
        self._stamp = ""
        self._frame = False
        self._head: list[bytes] = []
        self._tail: deque[bytes] = deque(maxlen=_TAIL)

    def note(self, line: bytes, record: Record) -> None:
        """Take the next line."""
        if len(self._head) < _HEAD:
            self._head.append(line)
        else:
            self.left_out += len(self._tail) == _TAIL
            self._tail.append(line)
        if record.stamp and self._stamp and record.stamp != self._stamp:
            self.later += record.stamp > self._stamp
            self.earlier += record.stamp < self._stamp
        self._stamp = record.stamp or self._stamp
        if signs.TRACEBACK in record.text:
            self.upwards += self._frame
            self.downwards += not self._frame
        self._frame = record.is_frame

    @property
    def newest_first(self) -> bool:
        """Whether the newest line stands first, as some viewers show a log."""
        if self.later or self.earlier:
            return self.earlier > 2 * self.later + 1 or (self.earlier > self.later and self.later == 0)
        return self.upwards > self.downwards

    def turned(self) -> list[bytes]:
        """The lines, oldest first."""
        return [*self._head, *self._tail][::-1]


class _Reader:
    def __init__(self) -> None:
        self.facts = Facts()
        self.order = _Order()
        self.complete = False
        self._story = Story()
        self._ended: list[Story] = []
        self._verdicts: list[Verdict] = []

    def take(self, line: bytes, offset: int) -> None:
        """Take a line that is worth a look."""
        text = line.decode("utf-8", "replace")
        for number, record in enumerate(records(text)):
            if number == 0:
                self.order.note(line, record)
            self._take(record, offset)

    def settled(self) -> bool:
        """Whether the server has been ready for so long that only its end is of interest."""
        ready = self._story.ready
        return ready is not None and self._reached - ready > _SETTLED_AFTER

    _reached = 0

    def _take(self, record: Record, offset: int) -> None:
        self._reached = max(self._reached, offset)
        if self._story.begins_another(record):
            self._close()
        self.facts.take(record.whole if not record.text.startswith("{") else record.text)
        self.complete = self.complete or signs.COMPLETE in record.text
        self._story.take(record, offset)

    def _close(self) -> None:
        if len(self._verdicts) < _MAX_STARTS:
            self._verdicts.append(judge(self._story))
        self._ended = [self._story]
        self._story = Story()

    def report(self, *, turned: bool = False) -> StartupReport:
        """What it all came to."""
        story, verdict = self._story, judge(self._story)
        before = self._ended[-1] if self._ended else Story()
        lists = {name: tuple(kept) for name, kept in self.facts.values.items()}
        details = dict(verdict.details)
        evidence = tuple(redact(line.strip())[:_MAX_LINE_SHOWN] for line in verdict.evidence)
        arguments = story.arguments if story.arguments is not None else before.arguments
        return StartupReport(
            vllm_version=story.version or before.version,
            engine=story.engine or before.engine,
            model=_model(story) or _model(before),
            state=verdict.state,
            diagnosis=verdict.diagnosis,
            startup_complete=self.complete,
            earlier_starts=tuple({"state": item.state, "diagnosis": item.diagnosis} for item in self._verdicts),
            kv_cache_tokens_usable=min(lists["kv_cache_tokens"], default=None),
            details=details,
            evidence=evidence,
            first_error_line=redact(verdict.first_error.strip())[:_MAX_LINE_SHOWN] if verdict.first_error else None,
            remedy=remedy(verdict.diagnosis, details, lists),
            truncated=not story.kinds or verdict.state == STARTING,
            non_default_args=arguments,
            **lists,
        )


def _model(story: Story) -> str | None:
    if story.config_model:
        return story.config_model
    given: dict[str, Any] = story.arguments or {}
    said = given.get("model_tag") or given.get("model") or story.namespace_model or story.banner_model
    return str(said) if said else None
