# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Step 4: one frontend and one topology. Is everything of this service, and nothing else, in one place?

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..findings import ERROR, INFO, WARNING, Finding
from .case import CORE, SERVER, WORKER, Case
from .model import SOURCE, Section, facts, unread_of
from .words import of_kind, whole

SOURCES = ("containers", "processes", "listeners", "gpu processes")


def section(case: Case) -> Section:
    """The section."""
    options, state = case.options, case.state
    names = [f"{each.name} ({each.status})" for each in state.container_states] if state else []
    roles: dict[str, int] = {}
    for process in case.processes:
        roles[process.role] = roles.get(process.role, 0) + 1
    rows = facts(
        ("frontends asked for", options.get("api-server-count"), "release.json"),
        ("topology", of_kind(options, "topology") or ("one rank" if options else None), "release.json"),
        ("ranks of one engine", case.ranks if options else None, "release.json"),
        ("GPUs of the service", case.content.get("gpus"), "release.json"),
        ("containers", names, "docker ps"),
        ("processes", roles, "/proc of the container"),
        ("who listens on its port", [_who(case, each) for each in _on_port(case)], "/proc/net/tcp"),
        ("processes on the GPUs", list(case.gpu_processes), "nvidia-smi"),
    )
    findings = tuple([*_frontends(case), *_topology(case), *_containers(case), *_port(case), *_processes(case)])
    title = "4. One frontend and one topology"
    return Section("topology", title, rows, findings, unread_of(case.unread, SOURCES))


def _on_port(case: Case) -> list[object]:
    return [each for each in case.listeners if each.port == case.port]


def _who(case: Case, listener: object) -> str:
    address, process = getattr(listener, "address", ""), getattr(listener, "process", None) or "an unknown process"
    inside = getattr(listener, "container", None)
    where = " in its container" if inside and inside == case.container_id else f" in {inside[:12]}" if inside else ""
    return f"{process}{where} on {address}"


def _frontends(case: Case) -> Iterator[Finding]:
    count = whole(case.options, "api-server-count", 1)
    if count > 1:
        yield Finding(
            "several_frontends",
            WARNING,
            f"{case.service} config.api-server-count",
            f"{count} frontends answer in turn, each with its own caches and counters",
            expected=1,
            observed=count,
            remedy="look for a fault with one: api-server-count: 1",
            source=SOURCE,
        )


def _topology(case: Case) -> Iterator[Finding]:
    options, gpus = case.options, case.content.get("gpus")
    replicas = whole(options, "data-parallel-size", 1)
    if replicas > 1:
        yield Finding(
            "several_engines",
            WARNING,
            f"{case.service} config.data-parallel-size",
            f"{replicas} engines share the requests, so two equal requests can meet different ones",
            expected=1,
            observed=replicas,
            remedy="look for a fault with one: data-parallel-size: 1",
            source=SOURCE,
        )
    if case.ranks > 1 and whole(options, "pipeline-parallel-size", 1) > 1:
        yield Finding(
            "pipeline",
            INFO,
            f"{case.service} config.pipeline-parallel-size",
            "the layers are spread over ranks: a fault of one stage shows in another",
            remedy="look for a fault with tensor parallelism alone, where the model fits",
            source=SOURCE,
        )
    held = len(gpus) if isinstance(gpus, list) else gpus if isinstance(gpus, int) else None
    if gpus == "all" and case.gpus is not None:
        held = len(case.gpus.gpus) or None
    local = whole(options, "data-parallel-size-local", replicas)
    wanted = case.ranks * local // whole(options, "nnodes", 1)
    if held is not None and wanted > held:
        yield Finding(
            "more_ranks_than_gpus",
            ERROR,
            f"{case.service} gpus",
            f"{wanted} ranks were asked for on this host, the service has {held} GPUs",
            expected=f"{wanted} or more",
            observed=held,
            remedy="lower tensor-parallel-size, pipeline-parallel-size or data-parallel-size, or give it more GPUs",
            source="docs/runbooks/diagnose.md",
        )


def _containers(case: Case) -> Iterator[Finding]:
    seen = case.state.container_states if case.state else ()
    if len(seen) > 1:
        yield Finding(
            "several_containers",
            ERROR,
            case.service,
            f"{len(seen)} containers carry its label; one of them answers and nobody knows which",
            expected=1,
            observed=[each.name for each in seen],
            remedy=f"on the host: systemctl restart vllm-{case.service}, which leaves one",
            source=SOURCE,
        )


def _port(case: Case) -> Iterator[Finding]:
    published = [each for each in (case.engine.published if case.engine else ()) if each.port == case.port]
    if any(each.service == case.service for each in published):
        return
    others = [f"container {each.container}" for each in published]
    inside = {case.container_id}
    for each in case.listeners:
        if each.port == case.port and not others and (each.container is None or each.container not in inside):
            others.append(f"{each.process or 'an unknown process'} (pid {each.pid or '?'})")
    if others and case.port:
        yield Finding(
            "port_held_by_other",
            ERROR,
            f"{case.service} port {case.port}",
            f"the port is held by {', '.join(dict.fromkeys(others))}, not by the service",
            observed=others,
            remedy=f"stop it, or give the service another port; on the host: ss -ltnp 'sport = :{case.port}'",
            source=SOURCE,
        )


def _processes(case: Case) -> Iterator[Finding]:
    """Only of a service that serves: while it loads, processes come and have no title yet."""
    if not case.serves or not case.of_role(SERVER):
        return
    cores, workers = len(case.of_role(CORE)), len(case.of_role(WORKER))
    if not cores:
        yield Finding(
            "engine_core_missing",
            ERROR,
            case.service,
            "the frontend runs and no engine process does: its engine has died",
            expected="one process VLLM::EngineCore or more",
            observed=0,
            remedy=f"it ends within seconds and is started again; on the host: vllm-host status {case.service}",
            source=SOURCE,
        )
    wanted = case.ranks // whole(case.options, "nnodes", 1)
    if cores and case.ranks > 1 and 0 < workers < wanted:
        yield Finding(
            "rank_missing",
            ERROR,
            case.service,
            f"{workers} of {wanted} workers run",
            expected=wanted,
            observed=workers,
            remedy=f"on the host: vllm-host startup-log {case.service} --log, and look for the rank that died first",
            source=SOURCE,
        )
