# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A diagnosis as the few lines that people read where a start failed.

Private to the collection.
"""

from __future__ import annotations

from ..findings import Finding

MOST_LINES = 5
_LONGEST = 240


def why_lines(finding: Finding) -> list[str]:
    """What it was, the lines of the log that say so, what to do, and where there is more."""
    evidence = finding.observed if isinstance(finding.observed, (list, tuple)) else ()
    remedy = [f"remedy: {finding.remedy}"] if finding.remedy else []
    runbook = [f"runbook: {finding.source}"] if finding.source else []
    shown = [f"  {_short(str(line))}" for line in evidence[:MOST_LINES]]
    return [f"diagnosis: {finding.message} ({finding.id})", *shown, *remedy, *runbook]


def _short(line: str) -> str:
    text = line.strip()
    return text if len(text) <= _LONGEST else text[: _LONGEST - 4] + " ..."
