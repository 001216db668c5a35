# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which starts of a host must not overlap: vLLM measures the free memory of a GPU while it starts, so two that start on
one GPU at once measure each other.

A start that has begun claims its GPUs until its gate's verdict or, when it fails, until its ending is written down.
Nothing has to give a claim back: it counts only as long as systemd says that the unit still is on its way with the very
invocation that made it.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..services.gpus import ALL, NONE, overlap
from ..services.model import GpuRequest
from .service_state import UnitState

# A start that has waited this long for others gives up with their names. Loads of the largest models take half of it.
LONGEST_WAIT = 7200.0

_ON_THE_WAY = ("activating", "reloading", "refreshing", "deactivating")


@dataclass(frozen=True)
class Claim:
    """A start of one service that has begun and had no verdict when it was read."""

    service: str
    gpus: GpuRequest
    boot: str
    invocation_id: str

    def __str__(self) -> str:
        """Name it for people: ``chat (GPU 0)``."""
        return f"{self.service} ({gpu_words(self.gpus)})"


def claim_of(service: str, known: Mapping[str, Any]) -> Claim | None:
    """The claim that a start makes, told from its ``state.json``; None when it has none, any more or yet."""
    gpus = gpu_request(known.get("gpus"))
    boot = known.get("boot")
    invocation_id = known.get("invocation_id")
    if gpus is None or not isinstance(boot, Mapping) or not isinstance(invocation_id, str) or not invocation_id:
        return None
    if "begun_monotonic" not in known or known.get("ready") or "ending" in known:
        return None
    return Claim(service, gpus, str(boot.get("marker")), invocation_id)


def in_the_way(gpus: GpuRequest, boot: str, claims: Iterable[Claim]) -> list[Claim]:
    """The claims of this boot on GPUs that this request could get too."""
    return [claim for claim in claims if claim.boot == boot and overlap(gpus, claim.gpus)]


def counts(claim: Claim, unit: UnitState | None) -> bool:
    """Whether a claim still holds; when systemd does not answer, nobody can say that it does not."""
    if unit is None:
        return True
    waits_for_another = unit.sub.startswith("auto-restart")
    return unit.invocation_id == claim.invocation_id and unit.active in _ON_THE_WAY and not waits_for_another


def gpu_request(value: Any) -> GpuRequest | None:
    """The request of a release as the rules about GPUs take it; None for what is none."""
    if isinstance(value, list) and value:
        return tuple(str(item) for item in value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value if value in (ALL, NONE) else None


def gpu_words(gpus: GpuRequest) -> str:
    """The GPUs of a request for people."""
    if isinstance(gpus, tuple):
        return f"GPU{'s' if len(gpus) > 1 else ''} {', '.join(gpus)}"
    if isinstance(gpus, int):
        return "the first GPU" if gpus == 1 else f"the first {gpus} GPUs"
    return "all GPUs" if gpus == ALL else "no GPU"
