# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The result of one audit.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..findings import Finding, failing


@dataclass(frozen=True)
class AuditReport:
    """What was found, worst first; ``audited_as`` is the release that the tables were asked for.

    ``migration`` is the proposal of a rewritten subject, None where there is no previous version.
    """

    findings: tuple[Finding, ...]
    name: str
    kind: str
    version: str
    audited_as: str
    previous_version: str | None = None
    migration: Mapping[str, Any] | None = None

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that fail."""
        return tuple(failing(self.findings))

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data; each finding's ``code`` is its ``id``."""
        return {
            "name": self.name,
            "kind": self.kind,
            "version": self.version,
            "audited_as": self.audited_as,
            "previous_version": self.previous_version,
            "findings": [{"code": finding.id, **finding.to_dict()} for finding in self.findings],
            "migration": None if self.migration is None else dict(self.migration),
        }
