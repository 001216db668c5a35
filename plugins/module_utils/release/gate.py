# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The limits of a start, and the judgement of one that is under way: go on, ready, or failed and why.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

LEAST_DEADLINE = 600.0
DEADLINE_FACTOR = 3.0
# What systemd is asked for beyond the silence that is allowed, so that the gate gives its verdict first.
EXTENSION_MARGIN = 60.0


@dataclass(frozen=True)
class Gate:
    """What ``gate.json`` says: how long a start may take, and what must be true at its end."""

    url: str = "http://127.0.0.1:8000"
    served_names: tuple[str, ...] = ()
    version: str | None = None
    runner: str = "generate"
    deadline_seconds: float | None = None
    silence_seconds: float = 120.0
    soak_seconds: float = 60.0
    progress_deadline_seconds: float | None = None
    kv_floor_tokens: int | None = None
    golden_prompts: tuple[Any, ...] = ()
    warmup: int = 1
    stop_grace_seconds: float = 60.0
    drain_cap_seconds: float = 120.0
    waivers: tuple[Any, ...] = ()
    notify: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Moment:
    """A start at one point in time; seconds since it began, and since its log last moved."""

    elapsed: float
    silent: float
    alive: bool = True
    ready: bool = False
    cancelled: bool = False
    stage: str = ""


READY = "ready"
DEAD = "dead"
CANCELLED = "cancelled"
SILENT = "silent"
LATE = "late"
# Given before there is a gate: no container could be made.
NOT_BEGUN = "not_begun"
# Given at the ending of a start to one whose gate gave no verdict.
CUT_OFF = "cut_off"
INTERRUPTED = (CANCELLED, CUT_OFF)


def gate_from_dict(data: Mapping[str, Any]) -> Gate:
    """Read ``gate.json``; keys of other tool versions are left alone."""
    known = {field.name for field in fields(Gate)}
    values = {key: value for key, value in data.items() if key in known and value is not None}
    for name in ("served_names", "golden_prompts", "waivers"):
        values[name] = tuple(values.get(name) or ())
    cap = (data.get("drain") or {}).get("cap_seconds")
    return Gate(**{**values, **({"drain_cap_seconds": cap} if cap is not None else {})})


def hard_deadline(gate: Gate, measured: float | None) -> float:
    """Seconds that a start may take: as told, else three times the last measured start, ten minutes at least."""
    if gate.deadline_seconds is not None:
        return gate.deadline_seconds
    return max(LEAST_DEADLINE, DEADLINE_FACTOR * (measured or 0.0))


def judge_start(moment: Moment, gate: Gate, deadline: float) -> tuple[str, str] | None:
    """The verdict on a start with its reason, or None while it may go on."""
    stage = f" at the stage '{moment.stage}'" if moment.stage else ""
    if moment.cancelled:
        return CANCELLED, f"the start was cancelled after {moment.elapsed:.0f} s{stage}"
    if not moment.alive:
        return DEAD, f"the engine ended after {moment.elapsed:.1f} s{stage}"
    if moment.ready:
        return READY, f"ready after {moment.elapsed:.1f} s"
    if moment.elapsed >= deadline:
        return LATE, f"not ready within the hard deadline of {deadline:.0f} s{stage}"
    if moment.silent >= gate.silence_seconds:
        return SILENT, f"no progress for {gate.silence_seconds:.0f} s{stage}, {moment.elapsed:.0f} s after the start"
    return None


def extension(moment: Moment, gate: Gate, deadline: float) -> float:
    """Seconds to ask of systemd from now on: to the end of the allowed silence or of the deadline, and a margin."""
    left = min(gate.silence_seconds - moment.silent, deadline - moment.elapsed)
    return max(left, 0.0) + EXTENSION_MARGIN
