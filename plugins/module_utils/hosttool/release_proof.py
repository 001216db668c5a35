# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Prove after a stop that the port is free and that nothing of the old container holds GPU memory.

Where nothing is left this is one look at /proc and one question to the driver: every second of it is downtime.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import replace

from ..host.ports import overlaps
from ..io import containers, gpu_processes, starts
from ..io.commands import Runner
from ..io.files import link_name, read_if_there
from ..io.ports import open_ports
from ..io.way_back import whole_record
from ..release.freed import ENDED, Held, Look, Seen, Verdict, freed, judge_release, why_not_free
from ..release.paths import LABEL_SERVICE
from ..release.record import ReleaseRecord
from ..release.states import REPLACING_KINDS
from .before_start import check_port
from .errors import ToolError
from .steps import Context, StepFailed

_LOOK = 0.1
NO_GPUS = ("none", None, 0)


def held_before(context: Context, coming: str | None = None) -> Held:
    """What the container is that will be stopped, read while it is there; after a crash what is known of it.

    ``coming`` is the release that will need the port: by default the one that the run is about.
    """
    old = whole_record(context.paths, link_name(context.paths.current))
    replaces = context.opening.kind in REPLACING_KINDS
    ids = _containers(context)
    held = Held(containers=ids, processes=gpu_processes.started(ids))
    wanted = whole_record(context.paths, coming or context.release) if replaces else old
    if wanted is not None:
        bind, port = wanted.content["bind"], wanted.content["port"]
        held = replace(held, bind=bind, port=port, needs_port=replaces, release=wanted.id)
    return _with_gpus(held, old, context.runner)


def prove_release(context: Context, before: Held) -> str:
    """Wait until nothing is left of the old container, end what outlives it; StepFailed when it does not let go."""
    began = context.clock.monotonic()
    killed: dict[int, Seen] = {}
    told = False
    held = _with_late(before)
    while True:
        look = _look(held, context.runner)
        verdict = judge_release(held, look, context.clock.monotonic() - began)
        if verdict.settled:
            return freed(held, look, killed.values())
        if verdict.over:
            raise StepFailed(_failure(context, held, look, verdict), {"left": [each.pid for each in verdict.left]})
        killed.update({each.pid: each for each in verdict.kill})
        gpu_processes.kill(held.processes, [each.pid for each in verdict.kill])
        told = told or _tell(context, held, verdict)
        context.clock.sleep(_LOOK)


def _tell(context: Context, held: Held, verdict: Verdict) -> bool:
    what = [f"{each.name} (pid {each.pid})" for each in verdict.left] or [f"port {held.port}"]
    context.say(f"stopped: the old engine is gone, but not {', '.join(what)}; waiting")
    return True


def _failure(context: Context, held: Held, look: Look, verdict: Verdict) -> str:
    """Who has what we need; a port that was let go of at the very last is free."""
    told = why_not_free(held, look, verdict)
    if told or not verdict.port:
        return told
    try:
        coming = whole_record(context.paths, held.release)
        if coming is not None:
            check_port(context.paths, coming, runner=context.runner)
    except ToolError as error:
        return str(error)
    except containers.DockerError as error:
        return f"port {held.port} is taken, and Docker does not say by whom: {error}"
    return f"port {held.port} was taken until a moment ago; try again"


def _look(held: Held, runner: Runner) -> Look:
    """The driver is asked only when no process is left that would have to be waited for anyway."""
    own = gpu_processes.alive(held.processes)
    taken = any(each.port == held.port and overlaps(each.address, held.bind) for each in open_ports())
    waits = any(each.state not in ENDED for each in own)
    if waits or not held.uses_gpus:
        return Look(own, port_taken=taken)
    if not gpu_processes.is_installed():
        return Look(own, port_taken=taken, unknown="its GPU memory cannot be looked at: the host has no nvidia-smi")
    memory, fault = gpu_processes.holders(runner=runner)
    seen = {each.pid: known for each in memory if (known := gpu_processes.process(each.pid)) is not None}
    unknown = f"its GPU memory cannot be looked at, nvidia-smi says: {fault}" if fault else ""
    return Look(own, memory, seen, taken, unknown)


def _with_late(held: Held) -> Held:
    """What the old container began between the look and its end, as long as it is in its group."""
    return replace(held, processes={**held.processes, **gpu_processes.started(held.containers)})


def _containers(context: Context) -> tuple[str, ...]:
    """The service's containers by Docker's word and by our own notes: those hold also when Docker forgot them."""
    paths = context.paths
    latest = starts.latest(paths)
    noted = str(starts.read(paths, latest).get("container_id") or "") if latest is not None else ""
    try:
        named = containers.with_label(LABEL_SERVICE, paths.service, runner=context.runner)
    except containers.DockerError:
        named = []
    return tuple(dict.fromkeys(each for each in (*named, noted, (read_if_there(paths.cid) or "").strip()) if each))


def _with_gpus(held: Held, old: ReleaseRecord | None, runner: Runner) -> Held:
    if old is None or old.content["gpus"] in NO_GPUS:
        return held
    if not gpu_processes.is_installed():
        return replace(held, uses_gpus=True)
    memory, _fault = gpu_processes.holders(runner=runner)
    others = frozenset(each.pid for each in memory if each.pid not in held.processes)
    return replace(held, uses_gpus=True, gpus=_uuids(old.content["gpus"], runner), others=others)


def _uuids(asked: object, runner: Runner) -> frozenset[str]:
    """The GPUs that the service may use; all of them where it does not name whole ones."""
    there = gpu_processes.gpus(runner=runner)
    named = {str(each) for each in asked} if isinstance(asked, (list, tuple)) else set()
    chosen = {each.uuid for each in there if named & {str(each.index), each.uuid}}
    return frozenset(chosen if len(chosen) == len(named) > 0 else {each.uuid for each in there})
