# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The text of a systemd unit, drop-ins behind it, as sections, keys and values.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..subject import Problem, UnitFile

_SECTION = re.compile(r"\[([A-Za-z][A-Za-z0-9 _.-]*)\]")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_COMMENT = ("#", ";")


def is_unit_text(text: str) -> bool:
    """Whether a text has a section that only units have."""
    heads = (line.strip() for line in text.splitlines())
    return any(line in {"[Unit]", "[Service]", "[Install]", "[Container]"} for line in heads)


def read_unit_text(text: str) -> tuple[UnitFile, tuple[Problem, ...]]:
    """All entries in their order; an empty value takes back what the key had, as systemd does it."""
    entries: list[tuple[str, str, str]] = []
    problems: list[Problem] = []
    section = ""
    for number, line in _lines(text):
        head = _SECTION.fullmatch(line)
        key, equals, value = (part.strip() for part in line.partition("="))
        if head:
            section = head.group(1)
        elif not equals or not _KEY.fullmatch(key):
            problems.append(Problem(f"line {number}", "is neither a section nor KEY=VALUE", "[Section] or KEY=VALUE"))
        elif not section:
            problems.append(Problem(f"line {number}", f"{key}= stands before any section", "[Section] above it"))
        elif value:
            entries.append((section, key, value))
        else:
            entries = [entry for entry in entries if entry[:2] != (section, key)]
    return UnitFile(tuple(entries)), tuple(problems)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their number; a backslash at the end goes on in the next line, comments between are left out."""
    begun, first = "", 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = raw.strip()
        if line.startswith(_COMMENT) or (not line and not begun):
            continue
        first = first or number
        if line.endswith("\\"):
            begun += line[:-1].rstrip() + " "
            continue
        whole = (begun + line).strip()
        if whole:
            yield first, whole
        begun, first = "", 0
    if begun.strip():
        yield first, begun.strip()
