# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis is made of: sections in the order in which one debugs, each with facts, findings and what is unread.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..findings import Finding, worst_first

SOURCE = "docs/runbooks/diagnose.md"
# Reports are for people, whatever somebody wrote into the files that they are made of.
LONGEST_VALUE = 16384


@dataclass(frozen=True)
class Fact:
    """One thing that was read, and where."""

    name: str
    value: Any
    source: str

    def to_dict(self) -> dict[str, Any]:
        """Give the fact as plain data."""
        return {"name": self.name, "value": small(self.value), "source": self.source}


@dataclass(frozen=True)
class Section:
    """One step of the debugging order."""

    id: str
    title: str
    facts: tuple[Fact, ...] = ()
    findings: tuple[Finding, ...] = ()
    unread: Mapping[str, str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the section as plain data, findings worst first."""
        return {
            "id": self.id,
            "title": self.title,
            "facts": [fact.to_dict() for fact in self.facts],
            "findings": [_small_finding(finding) for finding in worst_first(self.findings)],
            "unread": [{"source": source, "why": why} for source, why in (self.unread or {}).items()],
        }


@dataclass(frozen=True)
class Diagnosis:
    """All sections of one service at one moment."""

    service: str
    host: str
    at: str
    sections: tuple[Section, ...]

    @property
    def findings(self) -> list[Finding]:
        """Every finding: what the start itself says comes first of all, the others worst first."""
        first, *others = self.sections
        return [
            *worst_first(first.findings),
            *worst_first(finding for section in others for finding in section.findings),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Give the diagnosis as plain data."""
        return {
            "service": self.service,
            "host": self.host,
            "at": self.at,
            "findings": [_small_finding(finding) for finding in self.findings],
            "sections": [section.to_dict() for section in self.sections],
        }


def small(value: Any) -> Any:
    """A value as it is, or the begin of it as text where it is so long that nobody reads it."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= LONGEST_VALUE:
        return value
    return f"{text[: LONGEST_VALUE // 8]} [... {len(text):,} characters]"


def _small_finding(finding: Finding) -> dict[str, Any]:
    return {key: small(value) for key, value in finding.to_dict().items()}


def facts(*rows: tuple[str, Any, str]) -> tuple[Fact, ...]:
    """The facts of rows whose value is known."""
    return tuple(Fact(*row) for row in rows if row[1] not in (None, "", [], (), {}))


def unread_of(unread: Mapping[str, str], sources: Iterable[str]) -> dict[str, str]:
    """What of these sources could not be read, and why."""
    return {source: unread[source] for source in sources if source in unread}
