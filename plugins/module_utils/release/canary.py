# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Compare a canary with the rest of the fleet before the waves: its claims, its KV cache, the latency of the probe.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

# The KV cache may be a little smaller: memory is measured at each start.
KV_SHARE = 0.95

# The first request of the probe warms up; the others are measured.
WARM_UP = 1
PROBES = 5

# Generous on purpose: small completions on a busy fleet vary, and a canary that is really slower is far over this.
LATENCY_FACTOR = 2.0
LATENCY_SLACK_SECONDS = 0.25

_NONE = "-"


@dataclass(frozen=True)
class Measured:
    """What the probe saw of one service on one host; ``args`` are the arguments that its engine was started with."""

    host: str
    failed_claims: Sequence[str] = ()
    kv_tokens: int | None = None
    request_seconds: Sequence[float] = ()
    args: Sequence[str] = ()

    @property
    def latency(self) -> float | None:
        """The median of the measured requests, in seconds."""
        counted = self.request_seconds[WARM_UP:]
        return median(counted) if counted else None


@dataclass(frozen=True)
class Row:
    """One line of the table: what the canary has, what the rest has, what is allowed; ``holds`` None: not compared."""

    what: str
    canary: str
    rest: str
    allowed: str
    holds: bool | None


@dataclass(frozen=True)
class Comparison:
    """The table, and whether the canary may stay."""

    rows: Sequence[Row]

    @property
    def problems(self) -> list[str]:
        """What speaks against the canary."""
        return [
            f"{row.what}: {row.canary}, allowed is {row.allowed}" + ("" if row.rest == _NONE else f" ({row.rest})")
            for row in self.rows
            if row.holds is False
        ]

    @property
    def holds(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {"holds": self.holds, "problems": self.problems, "rows": [vars(row) for row in self.rows]}


def compare(canary: Measured, before: Measured | None, rest: Sequence[Measured]) -> Comparison:
    """Compare the canary with itself before the change and with all other hosts that have the service."""
    return Comparison(
        (
            _claims(canary),
            _kv_row("KV tokens, as itself before", canary, [before] if before else [], "before"),
            _kv_row("KV tokens, as the rest", canary, rest, "median of the rest"),
            _latency(canary, before, rest),
        )
    )


def _claims(canary: Measured) -> Row:
    failed = ", ".join(canary.failed_claims)
    return Row("claims", failed or "all hold", _NONE, "all hold", not failed)


def _kv_row(what: str, canary: Measured, others: Iterable[Measured], whose: str) -> Row:
    """Tokens can be compared only where the engine was started with the same arguments."""
    same = [each.kv_tokens for each in others if each.kv_tokens and list(each.args) == list(canary.args)]
    have = "unknown" if canary.kv_tokens is None else f"{canary.kv_tokens:,}"
    if not same:
        return Row(what, have, "none with the same arguments", "not compared", None)
    reference = median(same)
    floor = int(KV_SHARE * reference)
    holds = canary.kv_tokens is not None and canary.kv_tokens >= floor
    return Row(what, have, f"{reference:,.0f} {whose}", f"{floor:,} or more", holds)


def _latency(canary: Measured, before: Measured | None, rest: Sequence[Measured]) -> Row:
    """Against the rest; a fleet of one host has only its own past."""
    what = f"latency, median of {PROBES}"
    have = "not measured" if canary.latency is None else f"{canary.latency:.3f} s"
    known = [each.latency for each in rest if each.latency is not None]
    whose = "median of the rest"
    if not known and before is not None and before.latency is not None:
        known, whose = [before.latency], "before"
    if not known:
        return Row(what, have, "nothing to compare with", "not compared", None)
    reference = median(known)
    limit = max(LATENCY_FACTOR * reference, reference + LATENCY_SLACK_SECONDS)
    holds = canary.latency is not None and canary.latency <= limit
    return Row(what, have, f"{reference:.3f} s {whose}", f"{limit:.3f} s or less", holds)


def table_lines(host: str, service: str, compared: Comparison) -> list[str]:
    """The table for people, with one verdict a row."""
    head = ("", f"canary {host}", "rest", "allowed", "")
    verdicts = {True: "ok", False: "DIFFERS", None: _NONE}
    rows = [head, *((row.what, row.canary, row.rest, row.allowed, verdicts[row.holds]) for row in compared.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip() for row in rows]
    return [f"{service}: the canary and the rest", *(f"  {line}" for line in lines)]
