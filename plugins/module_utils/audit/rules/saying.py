# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How a rule is written: a function that says what it found, wrapped into a rule that the judge can ask.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Callable

from ...config.command_line import CommandLine
from ...findings import Finding
from ...versions import Version
from ..case import Case, Rule


@dataclass(frozen=True)
class Said:
    """What a rule says: about which part, what will happen, what to do; the rule itself knows the rest."""

    part: str
    message: str
    remedy: str
    expected: Any = None
    observed: Any = None
    severity: str | None = None


CaseCheck = Callable[[Case], Iterable[Said]]
LineCheck = Callable[[Case, CommandLine], Iterable[Said]]


@dataclass(frozen=True)
class _Asked:
    """A check between the first release that has it and the first that has not."""

    rule: str
    severity: str
    source: str
    check: CaseCheck
    since: Version | None
    until: Version | None

    def __call__(self, case: Case) -> Iterator[Finding]:
        """Ask the check, where the release of the case is one of its own."""
        if (self.since and case.version < self.since) or (self.until and case.version >= self.until):
            return
        for said in self.check(case):
            yield Finding(
                self.rule,
                said.severity or self.severity,
                case.about(said.part),
                said.message,
                expected=said.expected,
                observed=said.observed,
                remedy=said.remedy,
                source=self.source,
            )


def case_rule(
    rule: str, severity: str, source: str, since: Version | None = None, until: Version | None = None
) -> Callable[[CaseCheck], Rule]:
    """Make a rule of a check that looks at the whole case."""

    def made(check: CaseCheck) -> Rule:
        return Rule(rule, severity, source, _Asked(rule, severity, source, check, since, until))

    return made


def line_rule(
    rule: str, severity: str, source: str, since: Version | None = None, until: Version | None = None
) -> Callable[[LineCheck], Rule]:
    """Make a rule of a check that needs a command line; without one it is silent."""

    def made(check: LineCheck) -> Rule:
        def ask(case: Case) -> Iterable[Said]:
            return check(case, case.line) if case.line is not None else ()

        return Rule(rule, severity, source, _Asked(rule, severity, source, ask, since, until))

    return made
