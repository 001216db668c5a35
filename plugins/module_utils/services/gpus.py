# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which GPUs a service asks for, and whether two services could get the same one.

Private to the collection.
"""

from __future__ import annotations

import re

from .model import GpuRequest
from .problems import Complaints, nearest

ALL, NONE = "all", "none"
_WORDS = (ALL, NONE)
_ALLOWED = "all, none, a count from 1 (2), or a list of indices ([0, 1]) or UUIDs ([GPU-...])"
_INDEX = re.compile(r"(?:0|[1-9]\d{0,2})(?::(?:0|[1-9]\d{0,2}))?")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]{8,64}")
MOST = 64


def read_gpus(value: object, complaints: Complaints) -> GpuRequest | None:
    """Judge a GPU request."""
    if isinstance(value, str) and value in _WORDS:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST:
        return value
    if isinstance(value, list) and value:
        return _listed(value, complaints)
    near = nearest(value, _WORDS) if isinstance(value, str) else None
    complaints.at("gpus", value, _ALLOWED, nearest=near)
    return None


def _listed(value: list[object], complaints: Complaints) -> GpuRequest | None:
    names = [str(item) if isinstance(item, (str, int)) and not isinstance(item, bool) else "" for item in value]
    wrong = [item for item, name in zip(value, names) if not (_INDEX.fullmatch(name) or _UUID.fullmatch(name))]
    for item in wrong:
        complaints.at("gpus", item, _ALLOWED)
    if not wrong and len(set(names)) < len(names):
        complaints.say("gpus", ", ".join(names), "each GPU once")
        return None
    if not wrong and len({bool(_UUID.fullmatch(name)) for name in names}) > 1:
        complaints.say(
            "gpus", ", ".join(names), "indices only, or UUIDs only: mixed, nobody can tell whether two are one"
        )
        return None
    return None if wrong else tuple(names)


def overlap(one: GpuRequest, other: GpuRequest) -> str | None:
    """Say how two requests of one host could get the same GPU, or None when they cannot."""
    if NONE in (one, other):
        return None
    if ALL in (one, other):
        return "one of them asks for all"
    if isinstance(one, int) and isinstance(other, int):
        return "both are counts, and a count is the first GPUs of the host"
    mine, theirs = _names(one), _names(other)
    if _are_uuids(mine) != _are_uuids(theirs):
        return "one is told by UUID and the other is not, so nobody can tell them apart before they run"
    both = sorted({name for name in mine if any(_meet(name, their) for their in theirs)})
    return f"both have {', '.join(both)}" if both else None


def _names(request: GpuRequest) -> set[str]:
    return {str(index) for index in range(request)} if isinstance(request, int) else set(request)


def _are_uuids(names: set[str]) -> bool:
    return any(_UUID.fullmatch(name) for name in names)


def _meet(one: str, other: str) -> bool:
    """A MIG instance (0:1) is a part of its GPU (0)."""
    same_gpu = one.split(":", maxsplit=1)[0] == other.split(":", maxsplit=1)[0]
    return one == other or (same_gpu and (":" not in one or ":" not in other))
