# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A service, judged: every value has its type and its meaning.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from ..health.golden_prompts import GoldenPrompt
from ..versions import Version

GpuRequest = Union[str, int, tuple[str, ...]]


@dataclass(frozen=True)
class Image:
    """An image by tag; its digest is the lock file's to say."""

    repository: str
    tag: str

    @property
    def reference(self) -> str:
        """The name by which the lock file knows it."""
        return f"{self.repository}:{self.tag}"


@dataclass(frozen=True)
class Model:
    """What is served: a path on the host, or a commit of a Hugging Face repository."""

    kind: str
    name: str
    revision: str | None = None


@dataclass(frozen=True)
class Mount:
    """A path of the host that the container sees."""

    source: str
    target: str
    read_only: bool = True


@dataclass(frozen=True)
class Gate:
    """What a start must prove; a deadline of None lets progress decide."""

    deadline_seconds: int | None
    silence_seconds: int
    soak_seconds: int
    kv_floor_tokens: int | None
    warmup: int
    progress_deadline_seconds: int | None = None
    golden_prompts: tuple[GoldenPrompt, ...] = ()


@dataclass(frozen=True)
class Service:
    """One vLLM server as the inventory wants it on one host."""

    name: str
    state: str
    image: Image
    version: Version
    model: Model
    bind: str
    port: int
    exposed_without_key: bool
    gpus: GpuRequest
    gpus_shared: bool
    config: Mapping[str, Any]
    env: Mapping[str, str]
    shm_size: str
    shm_bytes: int
    gate: Gate
    drain_cap_seconds: int
    mounts: tuple[Mount, ...] = ()
    ulimits: tuple[tuple[str, str], ...] = ()
    devices: tuple[str, ...] = ()
    network: str = "bridge"
    user: str | None = None
    docker_args: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    secret_names: tuple[str, ...] = ()
    notify: Mapping[str, Any] = field(default_factory=dict)
