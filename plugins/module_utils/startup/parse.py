# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read what a start of vLLM said about itself, whatever the release: one pass, constant memory.

Private to the collection.
"""

from __future__ import annotations

import re
from typing import Any

from . import signs
from .blocks import Lines, Source, blocks
from .facts import Facts
from .layout import dedented, indent, unwrapped, width
from .lines import redact
from .order import Order
from .record import Record, records
from .remedies import remedy
from .report import STARTING, StartupReport, startup_from_dict
from .story import Story
from .verdict import Verdict, judge

__all__ = ["StartupReport", "parse_startup_log", "startup_from_dict"]

_SETTLED_AFTER = 1 << 18  # bytes after the server was ready
_MAX_LINE_SHOWN = 2000
_MAX_STARTS = 100
_MAX_DULL = 4096
_NEVER_DULL = re.compile(rb"rror|rrno|code|signal|core proc|terminat|LLM engine")


def parse_startup_log(source: Source) -> StartupReport:
    """Read the text of a log (str, bytes, lines, or a stream of bytes in any pieces)."""
    forward = _Reader()
    lines = Lines(forward.take, forward.settled)
    at, by = None, 0
    for number, block in enumerate(blocks(source)):
        if number == 0:
            by = indent(block.decode("utf-8", "replace"))
        level = dedented(block, by) if by else block
        if number == 0:
            at = width(level.decode("utf-8", "replace"))
        lines.feed(unwrapped(level, at) if at else level)
    if forward.order.newest_first:
        backward = _Reader()
        for place, line in enumerate(forward.order.turned()):
            backward.take(line, place)
        backward.facts = forward.facts  # in the order of the text, and of all of it
        return backward.report()
    return forward.report()


class _Reader:
    def __init__(self) -> None:
        self.facts = Facts()
        self.order = Order()
        self.complete = False
        # Lines that said nothing, without their digits: progress bars and the like come by the million.
        self._dull: set[bytes | None] = set()
        self._story = Story()
        self._ended: list[Story] = []
        self._verdicts: list[Verdict] = []

    def take(self, line: bytes, offset: int) -> None:
        """Take a line that is worth a look."""
        shape = None if _NEVER_DULL.search(line) else line.translate(None, b"0123456789")
        if shape in self._dull:
            return
        told = False
        for number, record in enumerate(records(line.decode("utf-8", "replace"))):
            if number == 0:
                self.order.note(line, record)
            told = self._take(record, offset) or told
        if shape is not None and not told and len(self._dull) < _MAX_DULL:
            self._dull.add(shape)

    def settled(self, offset: int) -> bool:
        """Whether the server has been ready for so long that only its end is of interest."""
        ready = self._story.ready
        return ready is not None and offset - ready > _SETTLED_AFTER

    def _take(self, record: Record, offset: int) -> bool:
        if self._story.begins_another(record):
            self._close()
        figures = self.facts.take(record.said)
        self.complete = self.complete or signs.COMPLETE in record.text
        return self._story.take(record, offset) or figures

    def _close(self) -> None:
        if len(self._verdicts) < _MAX_STARTS:
            self._verdicts.append(judge(self._story))
        self._ended = [self._story]
        self._story = Story()

    def report(self) -> StartupReport:
        """What it all came to."""
        story, verdict = self._story, judge(self._story)
        before = self._ended[-1] if self._ended else Story()
        lists = {name: tuple(kept) for name, kept in self.facts.values.items()}
        details = {name: _redacted(value) for name, value in verdict.details.items()}
        evidence = tuple(redact(line.strip())[:_MAX_LINE_SHOWN] for line in verdict.evidence)
        arguments = story.arguments if story.arguments is not None else before.arguments
        return StartupReport(
            vllm_version=story.version or before.version,
            engine=story.engine or before.engine,
            model=_redacted(story.model or before.model),
            state=verdict.state,
            diagnosis=verdict.diagnosis,
            startup_complete=self.complete,
            earlier_starts=tuple({"state": item.state, "diagnosis": item.diagnosis} for item in self._verdicts),
            kv_cache_tokens_usable=min(lists["kv_cache_tokens"], default=None),
            details=details,
            evidence=evidence,
            first_error_line=_first_error(verdict.first_error),
            remedy=remedy(verdict.diagnosis, {**_asked(story), **details}),
            truncated=not story.headers or verdict.state == STARTING,
            non_default_args=_redacted(arguments),
            **lists,
        )


def _asked(story: Story) -> dict[str, Any]:
    """The server's port, which its error does not name while there is no engine that could listen, too."""
    port = (story.arguments or {}).get("port")
    return {"port": port} if isinstance(port, int) and "engine" not in story.headers else {}


def _first_error(line: str | None) -> str | None:
    """Without the words that only point elsewhere: where this line stands there is no above."""
    return redact(signs.POINTER.sub("", line).strip())[:_MAX_LINE_SHOWN] if line else None


def _redacted(value: Any) -> Any:
    """The same data with every text redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {key: _redacted(item) for key, item in value.items()}
    return [_redacted(item) for item in value] if isinstance(value, list) else value
