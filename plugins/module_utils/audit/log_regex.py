# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A user's pattern for a line of the start-up log, tried on the line as each release prints it.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial

from ..config.releases import RELEASES
from ..findings import ERROR, WARNING, Finding
from ..patterns import MOST_CHARACTERS, bounded_pattern
from ..versions import Version
from .case import Case, Rule
from .image_name import project_image
from .log_lines import FORMATTER, PREFIXED, lines, shapes

LATER, NOW, UNREADABLE = "LOG_PATTERN_BREAKS_LATER", "LOG_PATTERN_BREAKS_NOW", "LOG_PATTERN_NOT_CHECKED"
SOURCE = "the messages of vllm/v1/core/kv_cache_utils.py, vllm/v1/engine/core.py, vllm/logger.py and others by release"
_OTHER_LINE = "(EngineCore_DP0 pid=4242) INFO 11-30 12:34:56 [core.py:123] Something else."
_NO_HEADER = Version(0, 7, 3)
_GROUP_NAME = re.compile(r"\(\?<(?=[A-Za-z_])")


@dataclass(frozen=True)
class Fate:
    """What becomes of one fact: read now or not, and the first release that makes the difference."""

    fact: str
    fails_now: bool
    since: Version | None
    breaks_at: Version | None
    header_only: bool = False


def compiled(pattern: str) -> re.Pattern[str] | None:
    """The pattern, or None for one that cannot be compiled or could take too long."""
    try:
        return bounded_pattern(_GROUP_NAME.sub("(?P<", pattern))
    except ValueError:
        return None


def fates(pattern: re.Pattern[str], version: Version, device: str) -> Iterator[Fate]:
    """For every fact that the pattern reads in some release."""
    if pattern.search(_OTHER_LINE):
        return  # it reads any line
    for fact in dict.fromkeys(shape.fact for shape in shapes()):
        fate = _fate(pattern, fact, version, device)
        if fate is not None:
            yield fate


def _fate(pattern: re.Pattern[str], fact: str, version: Version, device: str) -> Fate | None:
    later = [release for release in RELEASES if release > version]
    if _reads(pattern, fact, version, device, version):
        return _first_break(pattern, fact, later, device)
    headers = [base for base in (_NO_HEADER, PREFIXED, FORMATTER) if _reads(pattern, fact, version, device, base)]
    if headers:
        broken = next((at for at in later if not _reads(pattern, fact, at, device, headers[0])), None)
        return Fate(fact, True, PREFIXED if headers[0] < PREFIXED else FORMATTER, broken, header_only=True)
    earlier = [release for release in RELEASES if release < version and _reads(pattern, fact, release, device, release)]
    if not earlier:
        return None
    since = next((at for at in RELEASES if at > earlier[-1]), None)
    return Fate(fact, True, since, None)


def _first_break(pattern: re.Pattern[str], fact: str, later: list[Version], device: str) -> Fate | None:
    broken = next((at for at in later if not _reads(pattern, fact, at, device, at)), None)
    return Fate(fact, False, None, broken) if broken else None


def _reads(pattern: re.Pattern[str], fact: str, version: Version, device: str, headers: Version) -> bool:
    return any(pattern.search(line) for line in lines(fact, version, device, headers))


@lru_cache(maxsize=4)
def _all(text: str, version: Version, device: str) -> tuple[Fate, ...]:
    """The same for the text of a pattern; several rules ask for it, and trying all releases takes its time."""
    pattern = compiled(text)
    return tuple(fates(pattern, version, device)) if pattern else ()


def check(case: Case, wanted: str) -> Iterator[Finding]:
    """The findings of one id."""
    text = case.subject.log_regex
    if not text:
        return
    pattern = compiled(text)
    if pattern is None:
        if wanted == UNREADABLE:
            yield _unreadable(case, text)
        return
    image = project_image(case)
    device = "CPU" if image is not None and image.build.endswith("cpu") else "GPU"
    for fate in _all(text, case.version, device):
        if wanted == NOW and fate.fails_now:
            yield _now(case, text, fate)
        if wanted == LATER and fate.breaks_at:
            yield _later(case, text, fate)


def _unreadable(case: Case, text: str) -> Finding:
    return Finding(
        id=UNREADABLE,
        severity=WARNING,
        subject=case.about("log pattern"),
        message="The pattern was not tried: it is too long, repeats a repetition, or is not a regular expression.",
        expected=f"a pattern of at most {MOST_CHARACTERS} characters without nested repetition",
        observed=text[:200],
        remedy="Write a simpler pattern.",
        source=SOURCE,
    )


def _now(case: Case, text: str, fate: Fate) -> Finding:
    why = "what stands before the message changed" if fate.header_only else "the message is another one"
    return Finding(
        id=NOW,
        severity=ERROR,
        subject=case.about(fate.fact),
        message=f"The pattern does not find {fate.fact} in the log of vLLM {case.version}: {why} in {fate.since}.",
        expected=next(iter(lines(fate.fact, case.version, "GPU", case.version)), None),
        observed=text,
        remedy="Leave out the anchor at the begin of the line, or fit the pattern to the line that is expected."
        if fate.header_only
        else "Fit the pattern to the line that is expected, or read the fact with vllm-host startup-log.",
        source=SOURCE,
        since=str(fate.since) if fate.since else None,
    )


def _later(case: Case, text: str, fate: Fate) -> Finding:
    at = fate.breaks_at or case.version
    return Finding(
        id=LATER,
        severity=WARNING,
        subject=case.about(fate.fact),
        message=f"The pattern for {fate.fact} stops to match with vLLM {at}, which prints the line in another shape.",
        expected=next(iter(lines(fate.fact, at, "GPU", at)), None),
        observed=text,
        remedy=f"Before an upgrade to {at}, make the pattern match both shapes.",
        source=SOURCE,
        since=str(at),
    )


RULES = (
    Rule(LATER, WARNING, SOURCE, partial(check, wanted=LATER)),
    Rule(NOW, ERROR, SOURCE, partial(check, wanted=NOW)),
    Rule(UNREADABLE, WARNING, SOURCE, partial(check, wanted=UNREADABLE)),
)
