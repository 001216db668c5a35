# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge the story of one start: its state, the root cause and the lines that prove it.

The innermost first cause wins over what followed from it: causes with a text of their own over those that often hide a
deeper one, those over an exception that nobody knows, and among equals the first. A warning counts only when the start
failed for nothing better. Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import signs
from .cause import ANY
from .report import CRASHED, FAILED, READY, SERVING_ERROR, STARTING, STOPPED
from .slugs import NONE, NOT_IN_LOG
from .story import DEATH, FATAL, KILLED, SERVED, SIGINT, SIGTERM, STOP, TEMPLATE, Story
from .suspects import Cause

_MAX_EVIDENCE = 5
# Which signal ended a start, and what it is called; a parent sends on what it got.
_SIGNALS = ((SIGTERM, "sigterm_during_start"), (SIGINT, "user_interrupt"))
# A warning that explains what the error only reports.
_EXPLAINED_BY_WARNING = {"no_accelerator_detected", "user_interrupt", "sigterm_during_start", NOT_IN_LOG}


@dataclass(frozen=True)
class Verdict:
    """What one start came to."""

    state: str
    diagnosis: str = NONE
    evidence: Sequence[str] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    first_error: str | None = None


def judge(story: Story) -> Verdict:
    """Give the verdict on one start."""
    ready = story.ready
    if ready is not None and not _port_was_taken(story):
        return _after_ready(story, ready)
    only_requests = TEMPLATE in story.marks and not story.headers and FATAL not in story.marks
    return _serving_error(story) if ready is None and only_requests else _before_ready(story)


def _port_was_taken(story: Story) -> bool:
    """A server that says it is complete binds its port only then."""
    served = story.at(SERVED)
    taken = (cause for cause in story.suspects.causes if cause.slug == "port_in_use" and cause.fatal)
    return any(served is None or cause.offset < served for cause in taken)


def _after_ready(story: Story, ready: int) -> Verdict:
    death, ended = _since(story, ready, DEATH), _since(story, ready, STOP, SIGTERM, SIGINT)
    if death is not None and (ended is None or death < ended):
        return _failed(CRASHED, story.suspects.before_death(death), story)
    woken = [cause for cause in story.suspects.causes if cause.slug == "oom_wakeup"]
    if woken and ended is None:
        return _failed(CRASHED, woken, story)
    if ended is not None:
        return _stopped(story, ready)
    if _since(story, ready, KILLED) is not None:
        return Verdict(CRASHED, "killed_sigkill", _lines(story, KILLED), {}, story.line(KILLED))
    return _serving_error(story) if TEMPLATE in story.marks else Verdict(READY, first_error=story.request_error)


def _since(story: Story, ready: int, *names: str) -> int | None:
    """Where the first of these happened to the server that was ready."""
    known = (story.at(name) for name in names)
    return min((offset for offset in known if offset is not None and offset >= ready), default=None)


def _stopped(story: Story, ready: int) -> Verdict:
    if _since(story, ready, SIGTERM) is not None:
        return Verdict(STOPPED, "sigterm_after_ready", _lines(story, SIGTERM), {}, story.request_error)
    interrupted, stop = _since(story, ready, SIGINT), _since(story, ready, STOP)
    if interrupted is not None and (stop is None or interrupted <= stop):
        return Verdict(STOPPED, "user_interrupt", _lines(story, SIGINT), {}, story.request_error)
    return Verdict(STOPPED, first_error=story.request_error)


def _serving_error(story: Story) -> Verdict:
    return Verdict(SERVING_ERROR, "chat_template_missing", _lines(story, TEMPLATE), {}, story.line(TEMPLATE))


def _before_ready(story: Story) -> Verdict:
    hard = story.suspects.hard()
    signal = next((item for item in _SIGNALS if item[0] in story.marks), None)
    if not (FATAL in story.marks or KILLED in story.marks or signal or any(cause.fatal for cause in hard)):
        if story.initialised and DEATH in story.marks:
            return _failed(CRASHED, hard, story)
        return Verdict(STARTING, first_error=hard[0].line if hard else story.loud)
    if signal and not any(cause.kind.strength > ANY for cause in hard) and not _sent_by_others(story, signal[0]):
        return _or_warning(story, Verdict(FAILED, signal[1], _lines(story, signal[0])))
    if not hard and KILLED in story.marks and FATAL not in story.marks:
        return Verdict(FAILED, "killed_sigkill", _lines(story, KILLED), {}, story.line(KILLED))
    offline = story.initialised and not story.serves_http and DEATH in story.marks
    return _failed(CRASHED if offline else FAILED, hard, story)


def _sent_by_others(story: Story, name: str) -> bool:
    """Processes of a start that failed end each other by SIGTERM."""
    fatal, signal = story.at(FATAL), story.at(name)
    return name == SIGTERM and fatal is not None and signal is not None and fatal < signal


def _failed(state: str, causes: Sequence[Cause], story: Story) -> Verdict:
    strength = max((cause.kind.strength for cause in causes), default=0)
    best = next((cause for cause in causes if cause.kind.strength == strength), None)
    told = story.consequence
    gone = told if told is not None and signs.GONE.search(told.line) else None
    if best is None or (gone is not None and strength == ANY and gone.offset < best.offset):
        line = told.line if told else story.line(FATAL) or story.line(DEATH)
        first = line if gone else story.loud or line
        return _or_warning(story, Verdict(state, NOT_IN_LOG, [line] if line else [], {}, first))
    same = [cause for cause in causes if cause.slug == best.slug]
    details: dict[str, Any] = {}
    for cause in (best, *same):
        details.update({name: value for name, value in cause.details.items() if name not in details})
    said: dict[str, str] = {}  # several processes, and the end of a traceback, print the same words
    for cause in (best, *same):
        said.setdefault(cause.text, cause.line)
    lines = list(said.values())
    return _or_warning(story, Verdict(state, best.slug, lines[:_MAX_EVIDENCE], details, best.line))


def _or_warning(story: Story, verdict: Verdict) -> Verdict:
    """The warning that explains it, where there is one."""
    soft = next((cause for cause in story.suspects.causes if cause.kind.soft), None)
    if soft is None or verdict.diagnosis not in _EXPLAINED_BY_WARNING:
        return verdict
    lines = [soft.line, *verdict.evidence][:_MAX_EVIDENCE]
    return Verdict(verdict.state, soft.slug, lines, soft.details, verdict.first_error or soft.line)


def _lines(story: Story, name: str) -> list[str]:
    line = story.line(name)
    return [line] if line else []
