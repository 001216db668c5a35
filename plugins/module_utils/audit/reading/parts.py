# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Single values of a subject that several readers share: sizes, environments, published ports.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..subject import Publish

SIZE_EXPECTED = "a size such as 512m or 16g"
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?) ?(?:([kmgtp])i?)?b?", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def size_bytes(written: object) -> int | None:
    """A size as Docker reads one, in bytes (a bare number is bytes); None where it is none."""
    if isinstance(written, bool):
        return None
    match = _SIZE.fullmatch(str(written).strip()) if isinstance(written, (str, int, float)) else None
    if match is None:
        return None
    return int(float(match.group(1)) * 1024 ** _POWER[(match.group(2) or "").lower()])


def scalar(value: object) -> str | None:
    """A single value as text, as YAML or JSON wrote it; None for lists, maps and nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else None


def environment(given: object) -> tuple[dict[str, str], list[str]] | None:
    """A map, or a list of NAME=VALUE: the variables, and the names alone (their values come from elsewhere).

    None where it is neither.
    """
    known: dict[str, str] = {}
    bare: list[str] = []
    if isinstance(given, Mapping):
        entries = [(str(name), scalar(value), value is None) for name, value in given.items()]
    elif isinstance(given, (list, tuple)) and all(isinstance(item, str) for item in given):
        split = [item.partition("=") for item in given]
        entries = [(name, value, not equals) for name, equals, value in split]
    else:
        return None
    for name, value, is_bare in entries:
        if is_bare:
            bare.append(name)
        elif value is None:
            return None
        else:
            known[name] = value
    return known, bare


def publish(written: str) -> Publish:
    """A port as ``docker run -p`` takes it: ``8000``, ``80:8000``, ``127.0.0.1:80:8000/tcp``, ``[::1]:80:8000``."""
    text = written.strip().partition("/")[0]
    head, _colon, inside = _last_colon(text)
    address, _colon, outside = _last_colon(head)
    if head.startswith("[") and head.endswith("]"):
        address, outside = head, ""
    return Publish(address.strip("[]"), outside, inside)


def _last_colon(text: str) -> tuple[str, str, str]:
    """Split at the last colon that does not stand in braces: ``${PORT:-8000}`` is one word."""
    depth = 0
    for at in range(len(text) - 1, -1, -1):
        depth += {"}": 1, "{": -1}.get(text[at], 0)
        if text[at] == ":" and depth <= 0:
            return text[:at], ":", text[at + 1 :]
    return "", "", text


_GO_PART = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?)(h|ms|m|s|us|µs|ns)")
_GO_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def go_seconds(written: object) -> float | None:
    """A time as Docker and compose read one (``90s``, ``1m30s``), in seconds; a bare number is seconds."""
    text = (scalar(written) or "").strip()
    if re.fullmatch(r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?", text):
        return float(text)
    parts = _GO_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _GO_UNITS[unit] for number, unit in parts)
