# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What two services of one host cannot both have.

Private to the collection.
"""

from __future__ import annotations

import ipaddress
import itertools
from collections.abc import Iterator, Sequence

from .gpus import overlap
from .model import GpuRequest, Service
from .problems import CLASH, Problem, show
from .schema import ABSENT

_FREE_PORT = "a port that no other service of this host has"
_OWN_GPUS = "GPUs of its own: disjoint lists ([0, 1] and [2, 3]); or gpus_shared: true on both services"


def clashes(services: Sequence[Service]) -> list[Problem]:
    """Every clash of ports and GPUs; services that are to be removed do not count."""
    present = [service for service in services if service.state != ABSENT]
    return [problem for pair in itertools.combinations(present, 2) for problem in _pair(*pair)]


def _pair(one: Service, other: Service) -> Iterator[Problem]:
    if one.port == other.port and same_address(one.bind, other.bind):
        found = f"{other.bind} port {other.port}, which service {one.name} has too ({one.bind})"
        yield Problem(other.name, "port", found, _FREE_PORT, rank=CLASH)
    shared = one.gpus_shared and other.gpus_shared
    how = None if shared else overlap(one.gpus, other.gpus)
    if how:
        found = f"{_request(other.gpus)}, and service {one.name} has {_request(one.gpus)}: {how}"
        yield Problem(other.name, "gpus", found, _OWN_GPUS, rank=CLASH)


def _request(gpus: GpuRequest) -> str:
    return f"[{', '.join(gpus)}]" if isinstance(gpus, tuple) else show("gpus", gpus).strip("'")


def same_address(one: str, other: str) -> bool:
    """Whether two listeners on these addresses would meet; a wildcard meets everything, :: takes IPv4 too."""
    return one == other or any(ipaddress.ip_address(address).is_unspecified for address in (one, other))
