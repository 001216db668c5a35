# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Look at a whole host in one go. No decisions.

Private to the collection.
"""

from __future__ import annotations

import platform as python_platform
from collections.abc import Iterable
from dataclasses import dataclass

from ..host.ask import Answers, ask_hub, ask_registry
from ..host.facts import Host
from ..host.judge import Seen
from ..host.wanted import Wanted
from ..registry.settings import RegistrySettings
from .commands import Runner, run
from .docker import engine_info, images_present
from .models import cached_blobs, look_at_path, proven
from .ports import listeners
from .registry import getter
from .system import (
    cgroup_version,
    disk_of,
    engine_packages,
    gpu_host,
    machine,
    memory,
    operating_system,
    systemd_version,
)

_STATE = "/var/lib/gpuhosts-vllm"
_TIMEOUT = 15.0


def gather_host(cache: str, *, runner: Runner = run) -> Host:
    """Read everything that a host is judged by; changes nothing."""
    total, available = memory()
    engine = engine_info(runner=runner)
    return Host(
        os=operating_system(),
        kernel=python_platform.release(),
        platform=machine(),
        python=python_platform.python_version(),
        systemd=systemd_version(runner=runner),
        cgroup=cgroup_version(),
        memory_total_bytes=total,
        memory_available_bytes=available,
        disks={"docker": disk_of(engine.root), "cache": disk_of(cache), "state": disk_of(_STATE)},
        engine=engine,
        gpu=gpu_host(runner=runner),
        listeners=listeners(),
        packages=engine_packages(runner=runner),
    )


@dataclass(frozen=True)
class Sources:
    """Where images and models come from, and where models are kept."""

    cache: str
    endpoint: str
    settings: RegistrySettings


def look_for(services: Iterable[Wanted], host: Host, sources: Sources, *, runner: Runner = run) -> Seen:
    """Find which images and models are here; registry and hub are asked only for what is not."""
    asked, answers, cache, settings = tuple(services), Answers(), sources.cache, sources.settings
    pulls = [each.pull for each in asked if each.pull]
    present = images_present(pulls, host.engine, runner=runner)
    missing = {pull: [each.name for each in asked if each.pull == pull] for pull in pulls if pull not in present}
    ask_registry(missing, host.platform, settings, getter(settings, _TIMEOUT), answers)
    faults = {}
    for service in asked:
        name, kind = str(service.model.get("name")), service.model.get("kind")
        if kind == "path":
            fault = look_at_path(name)
            faults.update({service.name: fault} if fault else {})
        elif kind == "hub" and proven(cache, name, str(service.model.get("revision") or "main")) is None:
            way = RegistrySettings(proxy=settings.proxy, no_proxy=settings.no_proxy)
            ask_hub(service, sources.endpoint, cached_blobs(cache, name), getter(way, _TIMEOUT), answers)
    images = {pull: answers.image_bytes.get(pull) for pull in missing}
    return Seen(images, answers.model_bytes, faults, tuple(answers.findings))
