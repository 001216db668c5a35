# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Times and sizes as people write them.

Private to the collection.
"""

from __future__ import annotations

import re

DURATION = "a time such as 90s, 2m or 1h, or whole seconds"
SIZE = "a size such as 512m or 16g"
_DURATION = re.compile(r"(\d{1,9}) ?(s|sec|m|min|h)?")
_SECONDS = {"s": 1, "sec": 1, None: 1, "m": 60, "min": 60, "h": 3600}
_SIZE = re.compile(r"(\d{1,9}) ?(?:([kmgt])(?:i?b)?|b)", re.IGNORECASE)
_BYTES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def seconds(value: object) -> int:
    """Read a time; ValueError when it is none."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise ValueError(DURATION)
    return int(match.group(1)) * _SECONDS[match.group(2)]


def size(value: object) -> tuple[str, int]:
    """Read a size: how Docker is told (one spelling a size) and its bytes; ValueError when it is none."""
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if not match:
        raise ValueError(SIZE)
    number, unit = int(match.group(1)), (match.group(2) or "").lower()
    if unit == "t":  # Docker knows it too, but one spelling a size keeps one release id
        number, unit = number << 10, "g"
    return f"{number}{unit or 'b'}", number * _BYTES[unit]
