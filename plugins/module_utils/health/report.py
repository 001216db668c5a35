# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The report of one health run, as bounded JSON and as text for people.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..findings import INFO, Finding, one_line, worst_first
from .judge import Judged, facts_of

JSON_LIMIT = 16 * 1024
PASSED, ISSUES, USAGE, TIMED_OUT = 0, 1, 2, 124


@dataclass(frozen=True)
class HealthReport:
    """All checks of one run against one server."""

    url: str
    judged: Sequence[Judged]
    seconds: float
    timed_out: bool = False

    @property
    def exit_code(self) -> int:
        """0 when all passed, 124 when the time ran out, else 1."""
        if self.timed_out:
            return TIMED_OUT
        return PASSED if all(one.passed for one in self.judged) else ISSUES

    @property
    def findings(self) -> list[Finding]:
        """What was found, worst first."""
        return worst_first(one.finding for one in self.judged)

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        return {
            "url": self.url,
            "passed": self.exit_code == PASSED,
            "exit_code": self.exit_code,
            "timed_out": self.timed_out,
            "seconds": round(self.seconds, 3),
            "checks": {one.check: one.passed for one in self.judged},
            "facts": facts_of(list(self.judged)),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def not_checked(check: str, url: str, timeout: float) -> Judged:
    """The entry of a check that the time limit of the run did not leave room for."""
    message = f"not checked: the limit of {timeout:g} s for the whole run was used up"
    return Judged(check, Finding(f"{check}_not_checked", "error", url, message), timed_out=True)


def render_json(report: HealthReport, limit: int = JSON_LIMIT) -> str:
    """One line of JSON, ``limit`` bytes at most: what is long is cut before what decides is."""
    data = report.to_dict()
    for drop in ((), ("models",), ("models", "metrics"), tuple(data["facts"])):
        facts = {name: value for name, value in data["facts"].items() if name not in drop}
        text = json.dumps({**data, "facts": facts, **({"cut": list(drop)} if drop else {})}, sort_keys=True)
        if len(text) <= limit:
            return text
    return json.dumps({**data, "url": data["url"][:200], "facts": {}, "findings": [], "cut": ["facts", "findings"]})


def render_text(report: HealthReport) -> str:
    """Lines for people: findings worst first, then the verdict."""
    lines = [
        f"ok    {finding.subject}: {finding.message}" if finding.severity == INFO else one_line(finding)
        for finding in report.findings
    ]
    good = sum(one.passed for one in report.judged)
    return "\n".join([*lines, f"{good} of {len(report.judged)} checks passed in {report.seconds:.2f} s"]) + "\n"
