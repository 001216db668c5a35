# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The engine of a service as the host sees it: container, image, processes, variables, packages.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ...diagnose.budget import MIDDLE
from ...diagnose.case import OTHER, Process
from ...diagnose.contents import INSPECT
from ...diagnose.scrub import found_secrets, loose_secrets
from ...diagnose.variables import pairs_of
from ...host.facts import Engine
from ...release.paths import LABEL_SERVICE
from ...secrets_file import parse_secrets
from .. import containers, engine_processes
from ..docker import engine_info, image_inspect
from ..readers import may_ask_docker
from .reader import Reader, checked


def read_docker(reader: Reader) -> Engine | None:
    """What Docker says of itself; where it is not there or does not answer, that is told."""
    if not may_ask_docker():
        reader.unread["docker"] = "Docker is for root and the group docker"
        return None
    engine = reader.source("docker", lambda: engine_info(runner=reader.run))
    if engine is not None and not engine.reachable:
        reader.unread["docker"] = engine.error or "Docker is not installed"
    return engine


def read_container(reader: Reader, engine: Engine | None) -> dict[str, Any]:
    """What Docker says of the service's container: of the one that runs, else of any."""
    if engine is None or not engine.reachable:
        return {}

    def ask() -> dict[str, Any]:
        ids = containers.with_label(LABEL_SERVICE, reader.paths.service, runner=reader.run)
        asked = json.loads(checked(reader.run(["docker", "container", "inspect", *ids]))) if ids else []
        return dict(next(iter([each for each in asked if is_running(each)] or asked), {}))

    found = reader.source("container", ask) or {}
    reader.keep("docker/container.json", INSPECT, found, MIDDLE, "docker container inspect, no values of variables")
    return found


def read_image(reader: Reader, engine: Engine | None, image_id: str) -> dict[str, Any]:
    """What Docker says of the image."""
    if engine is None or not engine.reachable or not image_id:
        return {}
    found = reader.source("image", lambda: image_inspect(image_id, runner=reader.run))
    if found is None:
        reader.unread.setdefault("image", f"{image_id} is not on this host")
        return {}
    reader.keep("docker/image.json", INSPECT, found, MIDDLE, "docker image inspect, no values of variables")
    return found


def read_processes(reader: Reader, container: Mapping[str, Any]) -> tuple[tuple[Process, ...], dict[str, Any]]:
    """The processes of the container that runs, and what can be seen through the first of them."""
    found: tuple[Process, ...] = ()
    if is_running(container):
        found = reader.source("processes", lambda: engine_processes.look(str(container["Id"]))) or ()
    if not found:
        return (), {}
    pid = found[0].pid
    return found, {
        "shm": reader.source("shm", lambda: engine_processes.shared_memory(pid)),
        "interfaces": tuple(reader.source("interfaces", lambda: engine_processes.interfaces(pid)) or ()),
        "inner_listeners": reader.source("inner listeners", lambda: engine_processes.listeners(pid)) or (),
    }


def read_variables(
    reader: Reader, content: Mapping[str, Any], container: Mapping[str, Any], processes: tuple[Process, ...]
) -> dict[str, str]:
    """The variables of the engine with their values: of its release, its container and its processes."""
    env, config = content.get("env"), container.get("Config")
    found = {str(name): str(value) for name, value in env.items()} if isinstance(env, Mapping) else {}
    found.update(pairs_of(str(line) for line in (config.get("Env") if isinstance(config, Mapping) else None) or ()))
    for process in processes:
        found.update(reader.source("environment", partial(engine_processes.environment, process.pid)) or {})
    return found


def own_secrets(reader: Reader) -> dict[str, str]:
    """The secrets of the service."""
    return _secrets_in(reader, "secrets", reader.paths.secrets)


def all_secrets(
    reader: Reader, variables: Mapping[str, str], container: Mapping[str, Any], processes: tuple[Process, ...]
) -> list[dict[str, str]]:
    """All values that must not be shown: those of the service, and whatever else has the name of a secret."""
    words = [word for process in processes for word in (*process.words, "")]
    words += [str(word) for word in container.get("Args") or ()]
    earlier = _secrets_in(reader, "secrets.before", reader.paths.earlier_secrets)
    return [own_secrets(reader), earlier, found_secrets(variables, words)]


def read_packages(
    reader: Reader, container: Mapping[str, Any], image: Mapping[str, Any], processes: tuple[Process, ...]
) -> dict[str, list[str]]:
    """The Python packages of the engine: of its processes while it runs, else of the layers of its image."""
    if is_running(container):
        return reader.source("packages", lambda: _packages_of(processes)) or {}
    if not image:
        return {}
    return reader.source("packages", lambda: _packages_in(image)) or {}


def is_running(container: Mapping[str, Any]) -> bool:
    """Whether a container runs, in the words of inspect."""
    return bool((container.get("State") or {}).get("Running"))


def _secrets_in(reader: Reader, name: str, path: Path) -> dict[str, str]:
    """The values of a secrets file; of one that cannot be read as it should, all that may be one."""
    text = reader.text(name, path) if path.exists() else ""
    parsed = reader.source(name, lambda: parse_secrets(text))
    return loose_secrets(text) if parsed is None else parsed


def _packages_of(processes: tuple[Process, ...]) -> dict[str, list[str]]:
    named = [process.pid for process in processes if process.role != OTHER] or [each.pid for each in processes]
    if not named:
        raise ValueError("its container has no process that can be looked at")
    return _some(engine_processes.packages_of(named[0]))


def _packages_in(image: Mapping[str, Any]) -> dict[str, list[str]]:
    layers = engine_processes.layers_of(image)
    if not layers:
        raise ValueError("the service does not run, and Docker's store does not tell the folders of the image")
    found: dict[str, list[str]] = {}
    for layer in layers:
        for name, versions in engine_processes.packages_below(layer).items():
            found.setdefault(name, versions)
    return _some(found)


def _some(packages: dict[str, list[str]]) -> dict[str, list[str]]:
    if not packages:
        raise ValueError("no dist-info folder is where Python's packages usually are")
    return packages
