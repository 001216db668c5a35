# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a service asks of a host.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Wanted:
    """The part of a service's definition that a host is judged by."""

    name: str
    bind: str
    port: int | None
    gpus: Any
    shm_bytes: int
    pull: str | None
    platforms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model: Mapping[str, Any] = field(default_factory=dict)
    replaces: tuple[str, ...] = ()  # name and id of the container that it takes over, which holds its port until then

    @property
    def wants_gpus(self) -> bool:
        """Whether the service runs on GPUs at all."""
        return self.gpus not in ("none", None, 0)


def wanted(services: Iterable[Mapping[str, Any]]) -> tuple[Wanted, ...]:
    """Read the services that shall run; a stopped or absent one asks nothing of the host."""
    return tuple(_one(entry) for entry in services if entry.get("state", "started") == "started")


def _one(entry: Mapping[str, Any]) -> Wanted:
    adopt = entry.get("adopt") or {}
    return Wanted(
        name=str(entry["name"]),
        bind=str(entry.get("bind") or "127.0.0.1"),
        port=entry.get("port"),
        gpus=entry.get("gpus", "all"),
        shm_bytes=int(entry.get("shm_bytes") or 0),
        pull=entry.get("pull"),
        platforms=entry.get("platforms") or {},
        model=entry.get("model") or {},
        replaces=tuple(str(adopt[key]) for key in ("container", "container_id")) if adopt else (),
    )
