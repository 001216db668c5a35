# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask Docker through its command line. No decisions.

Private to the collection.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..host.facts import Engine, Published
from ..release.paths import LABEL_SERVICE
from .commands import Runner, run
from .docker_socket import asleep
from .system import read_text

_ASK = 30.0
_CONFIGURATION = "/etc/docker/daemon.json"


def engine_info(*, runner: Runner = run) -> Engine:
    """What Docker says of itself; an Engine that is not installed or not reachable says why."""
    if shutil.which("docker") is None:
        return Engine(installed=False, reachable=False)
    down = asleep(runner=runner)
    if down:
        return _unreachable(down, runner)
    asked = runner(["docker", "info", "--format", "{{json .}}"], timeout=_ASK)
    data = _object(asked.out)
    faults = data.get("ServerErrors") or []
    if not data.get("ServerVersion") or faults:
        said = "; ".join(str(fault) for fault in faults) or asked.err.strip() or f"exit status {asked.rc}"
        return _unreachable(said, runner)
    running = _running(runner)
    registry = data.get("RegistryConfig") or {}
    return Engine(
        installed=True,
        reachable=True,
        version=str(data["ServerVersion"]),
        root=str(data.get("DockerRootDir") or "/var/lib/docker"),
        cgroup_driver=data.get("CgroupDriver"),
        mirrors=tuple(registry.get("Mirrors") or ()),
        insecure=tuple(name for name, each in (registry.get("IndexConfigs") or {}).items() if not each.get("Secure")),
        runtimes=tuple(sorted(data.get("Runtimes") or ())),
        cdi_enabled=bool(data.get("CDISpecDirs")),
        containers={str(each["Id"]): _service_of(each) for each in running},
        published=tuple(port for each in running for port in _published(each)),
    )


def _unreachable(why: str, runner: Runner) -> Engine:
    root = _object(read_text(_CONFIGURATION)).get("data-root") or Engine.root
    return Engine(_server_installed(), False, why, _server_binary(runner), str(root))


def image_inspect(reference: str, *, runner: Runner = run) -> dict[str, Any] | None:
    """What Docker knows of a local image; None when it has none of this name."""
    asked = runner(["docker", "image", "inspect", reference], timeout=_ASK)
    found = json.loads(asked.out) if asked.ok else []
    return dict(found[0]) if found else None


def root_folder(*, runner: Runner = run) -> str:
    """Where Docker keeps images and containers."""
    asked = runner(["docker", "info", "--format", "{{.DockerRootDir}}"], timeout=_ASK)
    return (asked.out.strip() if asked.ok else "") or Engine.root


def images_present(references: Iterable[str], engine: Engine, *, runner: Runner = run) -> tuple[str, ...]:
    """Those of the references that are here, also while Docker does not run."""

    def here(reference: str) -> bool:
        if engine.reachable:
            return image_inspect(reference, runner=runner) is not None
        return image_on_disk(reference, engine.root) is not None

    return tuple(each for each in dict.fromkeys(references) if here(each))


def image_on_disk(reference: str, root: str) -> str | None:
    """The id of an image while Docker does not run, from the list that it keeps in its folder; None when unknown."""
    for listed in Path(root).glob("image/*/repositories.json"):
        for names in (_object(read_text(listed)).get("Repositories") or {}).values():
            if reference in names:
                return str(names[reference])
    return None


def _running(runner: Runner) -> list[dict[str, Any]]:
    ids = runner(["docker", "ps", "--quiet", "--no-trunc"], timeout=_ASK).out.split()
    # One that ended between the two questions is missing in the answer; what is printed for the others counts.
    asked = runner(["docker", "container", "inspect", *ids], timeout=_ASK).out if ids else "[]"
    try:
        found = json.loads(asked or "[]")
    except ValueError:
        return []
    return [dict(each) for each in found]


def _service_of(container: dict[str, Any]) -> str | None:
    labels = (container.get("Config") or {}).get("Labels") or {}
    return labels.get(LABEL_SERVICE)


def _published(container: dict[str, Any]) -> list[Published]:
    ports = (container.get("NetworkSettings") or {}).get("Ports") or {}
    name = str(container.get("Name", "")).lstrip("/")
    return [
        Published(str(each.get("HostIp") or "0.0.0.0"), int(each["HostPort"]), name, _service_of(container))
        for inner, places in ports.items()
        if inner.endswith("/tcp")
        for each in places or []
    ]


def _server_installed() -> bool:
    return shutil.which("dockerd") is not None or shutil.which("dockerd", path="/usr/sbin:/usr/local/sbin") is not None


def _server_binary(runner: Runner) -> str | None:
    """The version of a server that does not run: ``Docker version 26.1.5+dfsg1, build …``."""
    words = runner(["dockerd", "--version"], timeout=_ASK).out.replace(",", " ").split()
    return words[2] if words[:2] == ["Docker", "version"] and words[2:] else None


def _object(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
