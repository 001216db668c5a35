# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What this host knows of a running service: its start, its container, its way back. No decisions.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from ..health.evidence import HostEvidence, Identity, WayBack
from ..release.paths import LABEL_SERVICE, Paths
from ..release.service_state import ContainerSeen
from ..startup.parse import StartupReport, startup_from_dict
from . import containers, ports, starts, systemd
from .commands import Runner, run
from .files import link_name
from .way_back import missing_of, whole_record

_ASK = 30.0


def gather_host_evidence(paths: Paths, recorded: Identity | None = None, *, runner: Runner = run) -> HostEvidence:
    """Look at the service; ``recorded`` is the start that must run, by default the noted start of the invocation."""
    unit = systemd.show(paths.unit, runner=runner)
    invocation = unit.invocation_id if unit is not None and unit.is_running else ""
    seq = starts.of_invocation(paths, invocation)
    noted = starts.read(paths, seq) if seq is not None else {}
    silent, seen = _containers(paths, runner)
    found = tuple(each.id for each in seen)
    running = found[0] if len(found) == 1 else ""
    return HostEvidence(
        recorded=recorded or _identity(noted),
        observed=Identity(invocation, running),
        container=paths.container,
        containers=found,
        port_holder=_port_holder(paths, None if silent else runner),
        startup=_startup(paths, seq),
        start_seq=seq,
        start_seconds=noted.get("ready_seconds"),
        reference_tokens=_reference(paths, seq, noted.get("release")),
        way_back=_way_back(paths, runner),
        problems=(*silent, *_paused(seen)),
        printed_secrets=tuple(noted.get("printed_secrets") or ()),
    )


def _identity(noted: dict[str, Any]) -> Identity | None:
    if not noted.get("ready"):
        return None
    return Identity(str(noted.get("invocation_id") or ""), str(noted.get("container_id") or ""))


def _containers(paths: Paths, runner: Runner) -> tuple[tuple[str, ...], tuple[ContainerSeen, ...]]:
    """What Docker would not say, and all containers of the service, running or not."""
    try:
        return (), tuple(containers.listed(LABEL_SERVICE, paths.service, runner=runner))
    except containers.DockerError as error:
        return (f"Docker does not answer: {error}",), ()


def _paused(seen: tuple[ContainerSeen, ...]) -> tuple[str, ...]:
    names = [each.name for each in seen if each.status == "paused"]
    return tuple(f"its container is paused (docker unpause {name})" for name in names)


def _port_holder(paths: Paths, docker: Runner | None) -> str | None:
    """The name of the container that the port is published for, or the id of the one that a listener runs in.

    A Docker that does not answer is not asked again: to ask one that is down would start it.
    """
    record = whole_record(paths, link_name(paths.current))
    if record is None:
        return None
    port = record.content["port"]
    argv = ["docker", "ps", "--filter", f"publish={port}", "--format", "{{.Names}}"]
    name = next(iter(docker(argv, timeout=_ASK).out.split()), None) if docker is not None else None
    if name is not None:
        return name
    return next((each.container or each.process for each in ports.listeners() if each.port == port), None)


def _startup(paths: Paths, seq: int | None) -> StartupReport | None:
    data = starts.startup(paths, seq) if seq is not None else {}
    return startup_from_dict(data) if data else None


def _reference(paths: Paths, seq: int | None, release: object) -> int | None:
    """The KV cache tokens of the newest earlier start of the same release that became ready."""
    for earlier in reversed([number for number in starts.numbers(paths) if seq is not None and number < seq]):
        known = starts.read(paths, earlier)
        if known.get("ready") and known.get("release") == release:
            tokens = starts.startup(paths, earlier).get("kv_cache_tokens_usable")
            return tokens if isinstance(tokens, int) else None
    return None


def _way_back(paths: Paths, runner: Runner) -> WayBack | None:
    name = link_name(paths.last_good)
    return WayBack(name, missing_of(paths, name, runner=runner)) if name is not None else None
