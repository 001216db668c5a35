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

from .cause import ANY
from .report import CRASHED, FAILED, READY, SERVING_ERROR, STARTING, STOPPED
from .slugs import NONE, NOT_IN_LOG
from .story import Cause, Story

_MAX_EVIDENCE = 5
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
    if ready is not None and _bind_error(story) is None:
        return _after_ready(story, ready)
    if ready is None and story.template is not None and not story.kinds and story.fatal is None:
        return _serving_error(story)
    return _before_ready(story)


def _bind_error(story: Story) -> Cause | None:
    """A server that says it is complete binds its port only then."""
    taken = (cause for cause in story.causes if cause.slug == "port_in_use" and cause.fatal)
    return next((cause for cause in taken if story.served is None or cause.offset < story.served), None)


def _after_ready(story: Story, ready: int) -> Verdict:
    death = story.death if story.death is not None and story.death >= ready else None
    ended = [offset for offset in (story.stop, story.sigterm, story.sigint) if offset is not None and offset >= ready]
    woken = [cause for cause in story.causes if cause.slug == "oom_wakeup"]
    if death is None and woken and not ended:
        return _failed(CRASHED, woken, story)
    if death is not None and (not ended or death < min(ended)):
        near = story.near_death()
        return _failed(CRASHED, near, story)
    if ended:
        return _stopped(story, ready)
    if story.killed is not None and story.killed >= ready:
        return Verdict(CRASHED, "killed_sigkill", _marked(story, "killed"), {}, story.marks.get("killed"))
    if story.template is not None:
        return _serving_error(story)
    return Verdict(READY, first_error=story.request_error)


def _stopped(story: Story, ready: int) -> Verdict:
    if story.sigterm is not None and story.sigterm >= ready:
        return Verdict(STOPPED, "sigterm_after_ready", _marked(story, "sigterm"), {}, story.request_error)
    if story.sigint is not None and story.sigint >= ready and story.sigint <= (story.stop or story.sigint):
        return Verdict(STOPPED, "user_interrupt", _marked(story, "sigint"), {}, story.request_error)
    return Verdict(STOPPED, first_error=story.request_error)


def _serving_error(story: Story) -> Verdict:
    line = story.marks.get("template")
    return Verdict(SERVING_ERROR, "chat_template_missing", [line] if line else [], {}, line)


def _before_ready(story: Story) -> Verdict:
    hard = [cause for cause in story.causes if not cause.soft]
    fatal = story.fatal is not None or any(cause.fatal for cause in hard)
    signalled = _signal(story)
    if not fatal and signalled is None and story.killed is None:
        if story.initialised and story.death is not None:
            return _failed(CRASHED, hard, story)
        return Verdict(STARTING, first_error=hard[0].line if hard else story.loud)
    state = CRASHED if story.initialised and not story.server and story.death is not None else FAILED
    sure = [cause for cause in hard if cause.strength > ANY]
    if not sure and signalled is not None and not _signal_is_a_consequence(story, signalled):
        return _soft_or(story, Verdict(FAILED, signalled, _marked(story, _MARKS[signalled])), state)
    if not hard and story.killed is not None and story.fatal is None:
        return Verdict(FAILED, "killed_sigkill", _marked(story, "killed"), {}, story.marks.get("killed"))
    return _failed(state, hard, story)


_MARKS = {"sigterm_during_start": "sigterm", "user_interrupt": "sigint"}


def _signal(story: Story) -> str | None:
    """Which signal ended the start; one that a parent sent on is what the first one was."""
    known = {"sigterm_during_start": story.sigterm, "user_interrupt": story.sigint}
    found = {slug: offset for slug, offset in known.items() if offset is not None}
    if not found:
        return None
    return "sigterm_during_start" if story.sigterm is not None else min(found, key=lambda slug: found[slug])


def _signal_is_a_consequence(story: Story, slug: str) -> bool:
    """Processes of a start that failed are ended by the others."""
    offset = {"sigterm_during_start": story.sigterm, "user_interrupt": story.sigint}[slug]
    return story.fatal is not None and offset is not None and story.fatal < offset and slug != "user_interrupt"


def _failed(state: str, causes: Sequence[Cause], story: Story) -> Verdict:
    hard = [cause for cause in causes if not cause.soft]
    best = _first_of_the_strongest(hard)
    if best is None:
        line = story.consequence or next(
            (story.marks[name] for name in ("fatal", "death") if name in story.marks), None
        )
        return _soft_or(story, Verdict(state, NOT_IN_LOG, [line] if line else [], {}, story.loud or line), state)
    verdict = Verdict(state, best.slug, _evidence(best, hard), _details(best, hard), best.line)
    return _soft_or(story, verdict, state)


def _first_of_the_strongest(causes: Sequence[Cause]) -> Cause | None:
    strength = max((cause.strength for cause in causes), default=0)
    return next((cause for cause in causes if cause.strength == strength), None)


def _soft_or(story: Story, verdict: Verdict, state: str) -> Verdict:
    soft = next((cause for cause in story.causes if cause.soft), None)
    if soft is None or verdict.diagnosis not in _EXPLAINED_BY_WARNING:
        return verdict
    lines = [soft.line, *verdict.evidence][:_MAX_EVIDENCE]
    return Verdict(state, soft.slug, lines, soft.details, verdict.first_error or soft.line)


def _details(best: Cause, causes: Sequence[Cause]) -> dict[str, Any]:
    """What the first line names, and what the same cause names elsewhere."""
    found: dict[str, Any] = {}
    for cause in (best, *causes):
        if cause.slug == best.slug:
            found.update({name: value for name, value in cause.details.items() if name not in found})
    return found


def _evidence(best: Cause, causes: Sequence[Cause]) -> list[str]:
    lines = [best.line, *(cause.line for cause in causes if cause.slug == best.slug)]
    return list(dict.fromkeys(lines))[:_MAX_EVIDENCE]


def _marked(story: Story, name: str) -> list[str]:
    return [story.marks[name]] if name in story.marks else []
