# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The diagnosis of a start as a finding.

Private to the collection.
"""

from __future__ import annotations

from ..findings import ERROR, Finding
from .report import CRASHED, FAILED, SERVING_ERROR, StartupReport
from .signs import POINTER
from .slugs import SLUGS

RUNBOOKS = "docs/runbooks/diagnoses"


def runbook(slug: str) -> str:
    """Where the page of a diagnosis is, in this collection."""
    return f"{RUNBOOKS}/{slug}.md"


def startup_finding(report: StartupReport, subject: str) -> Finding | None:
    """Judge a start; None for one that serves, was stopped, or is on its way."""
    if report.state not in (FAILED, CRASHED, SERVING_ERROR) or report.diagnosis not in SLUGS:
        return None
    return Finding(
        id=report.diagnosis,
        severity=ERROR,
        subject=subject,
        message=SLUGS[report.diagnosis],
        observed=[POINTER.sub("", line).strip() for line in report.evidence],
        remedy=report.remedy,
        source=runbook(report.diagnosis),
    )
