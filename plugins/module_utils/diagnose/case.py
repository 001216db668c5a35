# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that was read of one service, as values. What could not be read is empty, and ``unread`` says why.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..host.facts import Engine, GpuHost, Listener
from ..metrics.report import MetricsReport
from ..release.service_state import ServiceState
from ..startup.parse import StartupReport
from ..versions import Version, parse_version
from .words import read_words, whole

SERVER, CORE, WORKER, COORDINATOR, RAY, OTHER = "server", "engine core", "worker", "coordinator", "ray", "other"
_TITLES = (
    ("VLLM::EngineCore", CORE),
    ("VLLM::Worker", WORKER),
    ("VLLM::DPCoordinator", COORDINATOR),
    ("VLLM::APIServer", SERVER),
    ("VLLM::ApiServer", SERVER),
    ("ray::", RAY),
    ("VLLM::", OTHER),
)


@dataclass(frozen=True)
class Process:
    """One process of the service's container."""

    pid: int
    parent: int
    name: str
    words: tuple[str, ...] = ()
    memlock: str = ""
    resident_kib: int = 0

    @property
    def role(self) -> str:
        """What it is by its title, which vLLM sets once it has loaded its modules."""
        title = " ".join(self.words)
        known = next((role for begin, role in _TITLES if title.startswith(begin)), None)
        if known:
            return known
        if "raylet" in title or "gcs_server" in title:
            return RAY
        vllm = any(word.rpartition("/")[2] in ("vllm", "api_server.py") or "openai.api_server" in word for word in
                   self.words[:4])  # fmt: skip
        return SERVER if vllm and self.name not in ("docker-init", "tini", "sh") else OTHER


@dataclass(frozen=True)
class Shm:
    """The shared memory of the container, in bytes."""

    total: int
    used: int


@dataclass(frozen=True)
class Model:
    """What the files of the model say; None for a file that is not there."""

    folder: str
    generation_config: Mapping[str, Any] | None = None
    chat_template: bool = False
    tokenizer: bool = False


@dataclass(frozen=True)
class Case:
    """One service on one host at one moment. No field holds a secret's value."""

    service: str
    host: str
    at: str
    unread: Mapping[str, str] = field(default_factory=dict)
    state: ServiceState | None = None
    by_hand: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)
    gate: Mapping[str, Any] = field(default_factory=dict)
    start: Mapping[str, Any] = field(default_factory=dict)
    startup: StartupReport | None = None
    container: Mapping[str, Any] = field(default_factory=dict)
    image: Mapping[str, Any] = field(default_factory=dict)
    processes: tuple[Process, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    health: Mapping[str, Any] = field(default_factory=dict)
    metrics: MetricsReport | None = None
    models: Sequence[Mapping[str, Any]] = ()
    listeners: tuple[Listener, ...] = ()
    inner_listeners: tuple[Listener, ...] = ()
    addresses: Sequence[str] = ()
    interfaces: Sequence[str] = ()
    engine: Engine | None = None
    gpus: GpuHost | None = None
    gpu_processes: Sequence[str] = ()
    shm: Shm | None = None
    memory: tuple[int, int] | None = None
    disks: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    kernel_lines: Sequence[str] = ()
    model: Model | None = None
    facts: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> Mapping[str, Any]:
        """The portable content of the release."""
        content = self.record.get("content")
        return content if isinstance(content, Mapping) else {}

    @property
    def args(self) -> tuple[str, ...]:
        """The words after ``vllm serve``, as they are recorded."""
        return tuple(str(word) for word in self.content.get("args") or ())

    @property
    def options(self) -> dict[str, Any]:
        """The options that were given."""
        return read_words(self.args)

    @property
    def version(self) -> Version | None:
        """The release of vLLM that the record promises."""
        try:
            return parse_version(str(self.content.get("version") or ""))
        except ValueError:
            return None

    @property
    def ranks(self) -> int:
        """How many ranks one engine has: tensor times pipeline parallel."""
        options = self.options
        return whole(options, "tensor-parallel-size", 1) * whole(options, "pipeline-parallel-size", 1)

    @property
    def serves(self) -> bool:
        """Whether the unit's gate has let it through."""
        return bool(self.state and self.state.is_serving)

    @property
    def port(self) -> int | None:
        """The port of the service."""
        port = self.content.get("port")
        return port if isinstance(port, int) else None

    @property
    def said(self) -> dict[str, Any]:
        """What the newest start said, as plain data."""
        return self.startup.to_dict() if self.startup else {}

    @property
    def container_id(self) -> str:
        """The container that was looked at."""
        return str(self.container.get("Id") or "")

    def of_role(self, role: str) -> list[Process]:
        """The processes of one role."""
        return [process for process in self.processes if process.role == role]

    def variable(self, name: str) -> str:
        """The value of a variable that may be shown; empty when it is not set."""
        return self.variables.get(name, "")

    def is_on(self, name: str) -> bool:
        """Whether a switch among the variables is on."""
        return self.variable(name).strip().lower() in ("1", "true", "yes", "on")
