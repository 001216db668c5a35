# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who stops the server must wait longer than the server drains.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..findings import WARNING, Finding
from ..versions import Version
from .case import Case, Rule
from .subject import COMPOSE

ID = "STOP_TIMEOUT_TOO_SHORT"
SOURCE = (
    "vllm/v1/engine/core.py and vllm/entrypoints/launcher.py of 0.18.0 and newer; systemd.time(7), systemd.service(5)"
)
SINCE = Version(0, 18, 0)
_SYSTEMD_DEFAULT = "90s"
_SPAN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-zµμ]*)")
_UNITS = {
    **dict.fromkeys(("", "s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
    **dict.fromkeys(("w", "week", "weeks"), 604800.0),
    **dict.fromkeys(("M", "month", "months"), 2629800.0),
    **dict.fromkeys(("y", "year", "years"), 31557600.0),
    **dict.fromkeys(("ms", "msec"), 1e-3),
    **dict.fromkeys(("us", "usec", "µs", "μs"), 1e-6),
    **dict.fromkeys(("ns", "nsec"), 1e-9),
}
_ENDLESS = float("inf")


def check(case: Case) -> Iterator[Finding]:
    """Each stop timeout that is not longer than ``--shutdown-timeout``."""
    drain = case.line.number("--shutdown-timeout") if case.line is not None else None
    if not drain or drain <= 0 or case.version < SINCE:
        return
    for part, written, seconds in _limits(case):
        if seconds <= drain:
            yield Finding(
                id=ID,
                severity=WARNING,
                subject=case.about(part),
                message=(
                    f"The server drains for up to {drain:g} s (--shutdown-timeout), and is killed after {written} "
                    f"({part}): requests that are still running then are cut off."
                ),
                expected=f"more than {drain:g} s",
                observed=written,
                remedy=f"Set {part} to {drain + 30:g} seconds or more, or drain for a shorter time.",
                source=SOURCE,
                since=str(SINCE),
                replacement=f"{part}={drain + 30:g}" if part == "TimeoutStopSec" else None,
            )


def _limits(case: Case) -> Iterator[tuple[str, str, float]]:
    unit, container = case.subject.unit, case.subject.container
    if unit is not None:
        written = unit.last("TimeoutStopSec", "Service") or unit.last("TimeoutSec", "Service")
        text = written if written and written.strip() else _SYSTEMD_DEFAULT
        seconds = time_span(text)
        if seconds is not None:
            yield "TimeoutStopSec", text if written else f"{text}, systemd's default", seconds
    if container is not None and container.stop_seconds is not None:
        seconds = _ENDLESS if container.stop_seconds < 0 else container.stop_seconds
        yield "stop_grace_period" if container.runner == COMPOSE else "--stop-timeout", f"{seconds:g} s", seconds


def time_span(text: str) -> float | None:
    """A time span as systemd reads it, in seconds: ``90``, ``2min 30s``, ``infinity``; None for anything else."""
    text = text.strip()
    if text == "infinity":
        return _ENDLESS
    total, at = 0.0, 0
    while at < len(text):
        match = _SPAN.match(text, at)
        if not match or match[2] not in _UNITS:
            return None
        total, at = total + float(match[1]) * _UNITS[match[2]], match.end()
    if not text:
        return None
    return total or _ENDLESS  # 0 switches the limit off


RULES = (Rule(ID, WARNING, SOURCE, check),)
