# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics that an expression asks for and the release does not export.

An alert on a series that is not there never fires, and says nothing about it.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from ..config import history
from ..findings import ERROR, WARNING, Finding
from ..versions import Version
from .case import Case, Rule
from .promql import metric_names, replaced
from .subject import Expression

SOURCE = "vllm/v1/metrics/loggers.py of the releases from 0.7.3 on"
REMOVED, HIDDEN, NOT_YET, UNKNOWN = "METRIC_REMOVED", "METRIC_HIDDEN", "METRIC_NOT_YET", "METRIC_UNKNOWN"
SHOW_HIDDEN = "--show-hidden-metrics-for-version"
_SUFFIXES = ("_bucket", "_count", "_sum", "_created", "_total")
_FIRST_NAME = re.compile(r"vllm:\w+")


def _expressions(case: Case) -> Iterator[Expression]:
    if case.subject.alert_expr:
        yield Expression("", case.subject.alert_expr)
    yield from case.subject.expressions


def found(case: Case, wanted: str) -> Iterator[Finding]:
    """The findings of one id, one for each metric and expression."""
    for expression in _expressions(case):
        told: set[str] = set()
        for name in dict.fromkeys(named.name for named in metric_names(expression.text)):
            if name in case.subject.recorded:
                continue
            finding = _judge(case, expression, name)
            if finding and finding.id == wanted and finding.subject not in told:
                told.add(finding.subject)
                yield finding


def series_of(name: str) -> tuple[history.History | None, str, str]:
    """What is known of a name, the series that it belongs to, and the suffix that makes the difference."""
    known = history.metric(name)
    if known:
        return known, name, ""
    for suffix in _SUFFIXES:
        base = name[: -len(suffix)] if name.endswith(suffix) else ""
        known = history.metric(base) if base else None
        if known:
            return known, base, suffix
    return None, name, ""


@dataclass(frozen=True)
class _Asked:
    """A name in an expression, and what is known of its series."""

    expression: Expression
    name: str
    series: str
    version: Version
    instead: str | None


def _judge(case: Case, expression: Expression, name: str) -> Finding | None:
    known, series, suffix = series_of(name)
    if known is None:
        return _unknown(case, expression, name)
    version, asked = case.version, _Asked(expression, name, series, case.version, _instead(known, suffix))
    if known.present(version):
        hidden = known.hidden_since(version)
        return _hidden(case, asked, hidden) if hidden and not _shown(case) else None
    removed, later = known.removed_since(version), known.appears_in(version)
    if removed:
        message = f"{name} is not exported any more since vLLM {removed}: the expression selects nothing, in silence."
        remedy = _rewrite(asked) or "Remove the expression, or build it on another metric."
        return _finding(case, asked, REMOVED, removed, message, remedy)
    if later:
        asked = replace(asked, instead=None)
        message = f"{name} is exported from vLLM {later} on: with {version} the expression selects nothing, in silence."
        remedy = f"Use the expression with vLLM {later} or newer, or build it on a metric that {version} exports."
        return _finding(case, asked, NOT_YET, later, message, remedy)
    return None


def _hidden(case: Case, asked: _Asked, since: Version) -> Finding:
    flag = f"{SHOW_HIDDEN}={_previous_minor(case.version)}"
    message = f"{asked.name} is hidden since vLLM {since}: only {flag} shows it, and a later release removes it."
    remedy = _rewrite(asked) or f"Until the expression is replaced, start the server with {flag}."
    return _finding(case, asked, HIDDEN, since, message, remedy)


def _unknown(case: Case, expression: Expression, name: str) -> Finding:
    nearest = history.nearest_metric(name)
    instead = nearest if nearest and nearest != name else None
    return Finding(
        id=UNKNOWN,
        severity=WARNING,
        subject=case.about(f"{expression.where} {name}".strip()),
        message=f"No vLLM release that is known exports {name}: the expression selects nothing.",
        expected=instead,
        observed=expression.text,
        remedy=f"Did you mean {instead}?" if instead else "Look the name up in the /metrics of the running server.",
        source=SOURCE,
        replacement=instead,
    )


def _finding(case: Case, asked: _Asked, code: str, since: Version, *said: str) -> Finding:
    message, remedy = said
    return Finding(
        id=code,
        severity=ERROR,
        subject=case.about(f"{asked.expression.where} {asked.series}".strip()),
        message=message,
        expected=_proposal(asked),
        observed=asked.expression.text,
        remedy=remedy,
        source=SOURCE,
        since=str(since),
        replacement=asked.instead,
    )


def _instead(known: history.History, suffix: str) -> str | None:
    """What takes the place of a series, written with the suffix that the expression uses."""
    if not known.replacement or not suffix or suffix == "_total":
        return known.replacement
    return _FIRST_NAME.sub(lambda match: match[0] + suffix, known.replacement, count=1)


def _proposal(asked: _Asked) -> str | None:
    """The whole expression rewritten, where one name takes the place of another."""
    if _one_name(asked.instead) is None:
        return None
    text = asked.expression.text
    names = dict.fromkeys(named.name for named in metric_names(text))
    new = replaced(text, dict(_successors(names, asked.version)))
    return new if new != text else None


def _successors(names: Iterable[str], version: Version) -> Iterator[tuple[str, str]]:
    """Each of the names that this version hides or has not got any more, with the one name that took its place."""
    for name in names:
        known, _series, suffix = series_of(name)
        if known is not None and (known.removed_since(version) or known.hidden_since(version)):
            instead = _one_name(_instead(known, suffix))
            if instead:
                yield name, instead


def _one_name(instead: str | None) -> str | None:
    """The name, where it is one that simply takes the place."""
    match = _FIRST_NAME.match(instead or "")
    if not match or (instead or "")[match.end() :].lstrip()[:1] in {"/", "+", "*"}:
        return None
    return match[0]


def _rewrite(asked: _Asked) -> str | None:
    proposal = _proposal(asked)
    if proposal:
        return f"Write it as: {proposal}"
    return f"Build it on {asked.instead}." if asked.instead else None


def _previous_minor(version: Version) -> str:
    return f"{version.major}.{max(0, version.minor - 1)}"


def _shown(case: Case) -> bool:
    """vLLM shows what the release before hid, when it is told exactly that release: 0.11 for 0.12.x."""
    return case.line is not None and case.line.value(SHOW_HIDDEN) == _previous_minor(case.version)


RULES = (
    Rule(REMOVED, ERROR, SOURCE, partial(found, wanted=REMOVED)),
    Rule(HIDDEN, ERROR, SOURCE, partial(found, wanted=HIDDEN)),
    Rule(NOT_YET, ERROR, SOURCE, partial(found, wanted=NOT_YET)),
    Rule(UNKNOWN, WARNING, SOURCE, partial(found, wanted=UNKNOWN)),
)
