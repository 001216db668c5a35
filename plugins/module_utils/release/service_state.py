# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What was seen of one service on a host, as values; the edge fills them in, the plan and the runs judge them.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .journal import Entry, open_run

RUNNING = ("active", "activating", "reloading", "refreshing", "deactivating")


@dataclass(frozen=True)
class UnitState:
    """A systemd unit, in systemd's own words."""

    load: str = "not-found"
    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    invocation_id: str = ""
    main_pid: int = 0
    status_text: str = ""

    @property
    def is_running(self) -> bool:
        """Whether an engine runs under the unit, or is on its way up or down."""
        return self.active in RUNNING

    @property
    def waits(self) -> bool:
        """Whether nothing of it runs and systemd is going to start it again: while Docker is down, for ever."""
        return self.sub.startswith("auto-restart")


@dataclass(frozen=True)
class ContainerSeen:
    """A container of the service, as `docker ps` lists it."""

    id: str
    name: str
    status: str


@dataclass(frozen=True)
class StartState:
    """One start, as its ``state.json`` tells it; ``data`` has all of it."""

    seq: int
    release: str | None = None
    ready_seconds: float | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ServiceState:
    """One service on one host. A field is None where the host could not say (no systemd, Docker down)."""

    name: str
    unit: UnitState | None = None
    current: str | None = None
    last_good: str | None = None
    stopped: bool = False
    frozen: str | None = None
    entries: tuple[Entry, ...] = ()
    journal_error: str | None = None
    contents: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    starts: tuple[StartState, ...] = ()
    containers: tuple[str, ...] | None = None
    container_states: tuple[ContainerSeen, ...] = ()
    installed: bool = False
    comes_back: bool = True
    driver_alive: bool = False
    run_of_this_boot: str | None = None

    @property
    def is_running(self) -> bool:
        """Whether the unit runs."""
        return self.unit is not None and self.unit.is_running

    @property
    def is_serving(self) -> bool:
        """Whether the unit's gate has let it through, and nothing has ended it since."""
        return self.unit is not None and self.unit.active == "active"

    @property
    def docker_answers(self) -> bool:
        """Whether Docker could be asked for the service's containers."""
        return self.containers is not None

    @property
    def open_run(self) -> tuple[Entry, ...]:
        """The records of the run that has not ended, if there is one."""
        return open_run(self.entries)

    @property
    def is_there(self) -> bool:
        """Whether anything is left that a removal would have to remove."""
        return bool(self.installed or self.is_running or self.current or self.last_good or self.containers)

    def start_seconds(self) -> float | None:
        """The median of the last three measured starts that became ready, or None before the first."""
        recent = [start.ready_seconds for start in self.starts if start.ready_seconds is not None][-3:]
        return sorted(recent)[len(recent) // 2] if recent else None
