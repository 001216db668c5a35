# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One judgement, one shape: everything that judges returns findings, and one rule decides what fails.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

ERROR = "error"
WARNING = "warning"
INFO = "info"
SEVERITIES = (ERROR, WARNING, INFO)


@dataclass(frozen=True)
class Finding:
    """One judgement about one subject.

    ``id`` is stable and machine-readable (``port_held``), ``subject`` names what is judged
    (``chat port 8000``), ``remedy`` is the next thing to do, as a sentence or a command.
    """

    id: str
    severity: str
    subject: str
    message: str
    expected: Any = None
    observed: Any = None
    remedy: str | None = None
    source: str | None = None
    since: str | None = None
    replacement: str | None = None
    waived_until: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the finding as plain data, without the fields that are not set."""
        return {key: value for key, value in asdict(self).items() if value is not None}


def finding_from_dict(data: dict[str, Any]) -> Finding:
    """Read a finding back from its plain data; unknown keys are an error of the caller (TypeError)."""
    return Finding(**data)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Sort by what to do first: errors, then warnings, then information; within one severity the order is kept."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def failing(findings: Iterable[Finding]) -> list[Finding]:
    """The one exit rule: errors fail, unless they are waived."""
    return [finding for finding in findings if finding.severity == ERROR and not finding.waived_until]


def one_line(finding: Finding) -> str:
    """Say a finding in one line for people: subject, message, then what to do."""
    remedy = f" -> {finding.remedy}" if finding.remedy else ""
    return f"{finding.severity.upper()} {finding.id} [{finding.subject}] {finding.message}{remedy}"
