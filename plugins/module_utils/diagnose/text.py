# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Write a diagnosis for people, from its plain data.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..findings import INFO, finding_from_dict, one_line

_INDENT = "    "
_WIDTH = 300
_EVIDENCE = 5


def render_text(diagnosis: Mapping[str, Any]) -> str:
    """The whole report of one service."""
    head = f"{diagnosis['service']} on {diagnosis['host']}, {diagnosis['at']}"
    return "\n".join([head, *section_lines(diagnosis)]) + "\n"


def section_lines(diagnosis: Mapping[str, Any]) -> list[str]:
    """Every section with its findings, its facts, and what could not be read."""
    lines: list[str] = []
    for section in diagnosis["sections"]:
        lines += ["", f"{_INDENT}{section['title']}"]
        for data in section["findings"]:
            lines += finding_lines(data)
        lines += [f"{_INDENT}  {each['name']}: {short(each['value'])}  [{each['source']}]" for each in section["facts"]]
        lines += [f"{_INDENT}  not read: {each['source']}: {each['why']}" for each in section["unread"]]
    return lines


def finding_lines(data: Mapping[str, Any]) -> list[str]:
    """One finding, the first lines of its evidence, and the page about it."""
    finding = finding_from_dict(dict(data))
    text = f"note  {finding.subject}: {finding.message}" if finding.severity == INFO else one_line(finding)
    if finding.severity == INFO and finding.remedy:
        text += f" -> {finding.remedy}"
    seen = finding.observed if isinstance(finding.observed, (list, tuple)) else []
    evidence = [f"{_INDENT}  | {short(line)}" for line in seen[:_EVIDENCE]]
    page = [f"{_INDENT}  see {finding.source}"] if finding.source else []
    return [f"{_INDENT}{text}", *evidence, *page]


def short(value: Any) -> str:
    """A value in one line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = " ".join(text.split())
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"
