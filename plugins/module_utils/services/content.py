# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a judged service means for a host: the content of its release, and the gate that its starts must pass.

Private to the collection.
"""

from __future__ import annotations

import ipaddress
from dataclasses import asdict
from typing import Any

from ..config.arguments import argument_list
from ..lock import LockedImage
from ..release.record import SCHEMA, release_id
from ..versions import parse_version
from .config_keys import SHUTDOWN
from .model import Service
from .owned import OWNED_ENV

GENERATE, POOLING = "generate", "pooling"
STOP_GRACE_SECONDS = 30
_EVERY_ADDRESS = "0.0.0.0"
_POOLING_TASKS = {"embed", "embedding", "classify", "score", "reward"}
_TASK_GONE = parse_version("0.13.0")


def release_content(service: Service, index_digest: str) -> dict[str, Any]:
    """Everything that makes this release this release, and nothing of one host."""
    return {
        "schema": SCHEMA,
        "image": service.image.repository,
        "tag": service.image.tag,
        "index_digest": index_digest,
        "version": str(service.version),
        "args": list(arguments(service)),
        "env": dict(sorted({**service.env, **OWNED_ENV}.items())),
        "mounts": [asdict(mount) for mount in service.mounts],
        "gpus": list(service.gpus) if isinstance(service.gpus, tuple) else service.gpus,
        "shm_size": service.shm_size,
        "network": service.network,
        "bind": service.bind,
        "port": service.port,
        "user": service.user,
        "ulimits": dict(service.ulimits),
        "devices": list(service.devices),
        "docker_args": list(service.docker_args),
        "model": asdict(service.model),
        "after": list(service.after),
    }


def arguments(service: Service) -> tuple[str, ...]:
    """The words after ``vllm serve``; where the container has a network of its own, Docker's publishing binds."""
    owned: dict[str, Any] = {
        "host": service.bind if service.network == "host" else _EVERY_ADDRESS,
        "port": service.port,
        "revision": service.model.revision,
    }
    return argument_list(service.model.name, {**service.config, **owned}, service.version)


def served_names(service: Service) -> list[str]:
    """The names under which clients find the model."""
    told = service.config.get("served-model-name")
    if told is None:
        return [service.model.name]
    return [told] if isinstance(told, str) else list(told)


def runner(service: Service) -> str:
    """Whether the server generates or pools, as far as its options say; the model alone is not looked at."""
    config = service.config
    told = config.get("runner")
    if told in {GENERATE, POOLING}:
        return str(told)
    task = config.get("task") if service.version < _TASK_GONE else None
    return POOLING if {config.get("convert"), task} & _POOLING_TASKS else GENERATE


def url(service: Service) -> str:
    """Where the host itself reaches the server."""
    address = ipaddress.ip_address(service.bind)
    if isinstance(address, ipaddress.IPv6Address):
        host = "[::1]" if address.is_unspecified else f"[{address}]"
    else:
        host = "127.0.0.1" if address.is_unspecified else str(address)
    return f"http://{host}:{service.port}"


def gate_record(service: Service) -> dict[str, Any]:
    """What a start of this service must prove, as the host keeps it."""
    return {
        **asdict(service.gate),
        "golden_prompts": [prompt.to_dict() for prompt in service.gate.golden_prompts],
        **({"notify": dict(service.notify)} if service.notify else {}),
        "version": str(service.version),
        "served_names": served_names(service),
        "runner": runner(service),
        "url": url(service),
        "stop_grace_seconds": STOP_GRACE_SECONDS + int(service.config.get(SHUTDOWN) or 0),
    }


def service_entry(service: Service, locked: LockedImage | None) -> dict[str, Any]:
    """The service as the playbooks and roles take it; without a lock it has no release."""
    content = release_content(service, locked.index) if locked else None
    return {
        "name": service.name,
        "state": service.state,
        "image": service.image.reference,
        "repository": service.image.repository,
        "tag": service.image.tag,
        "pull": f"{service.image.repository}@{locked.index}" if locked else None,
        "index_digest": locked.index if locked else None,
        "platforms": {name: asdict(platform) for name, platform in locked.platforms} if locked else {},
        "version": str(service.version),
        "model": asdict(service.model),
        "bind": service.bind,
        "port": service.port,
        "gpus": list(service.gpus) if isinstance(service.gpus, tuple) else service.gpus,
        "shm_bytes": service.shm_bytes,
        "mounts": [asdict(mount) for mount in service.mounts],
        "user": service.user,
        "after": list(service.after),
        "devices": list(service.devices),
        "secret_names": list(service.secret_names),
        "served_names": served_names(service),
        "runner": runner(service),
        "release": {"id": release_id(content), "content": content} if content else None,
        "gate": gate_record(service),
        "drain": {"cap_seconds": service.drain_cap_seconds},
    }
