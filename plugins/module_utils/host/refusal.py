# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The one exception of host, registry and model work: a finding that stops.

Private to the collection.
"""

from __future__ import annotations

from ..findings import ERROR, Finding


class Refusal(Exception):
    """What cannot be done here, as the finding that says why and what to do next."""

    def __init__(self, finding: Finding) -> None:
        """Carry ``finding``; as text it is one sentence for people."""
        super().__init__(sentence(finding))
        self.finding = finding


def refusal(kind: str, subject: str, message: str, remedy: str) -> Refusal:
    """Make the refusal of ``subject``: ``kind`` is its finding's id."""
    return Refusal(Finding(kind, ERROR, subject, message, remedy=remedy))


def sentence(finding: Finding) -> str:
    """Say a finding without its id: subject, message, next command."""
    remedy = f" Next: {finding.remedy}" if finding.remedy else ""
    end = "" if finding.message.endswith((".", "?", "!")) else "."
    return f"{finding.subject}: {finding.message}{end}{remedy}"
