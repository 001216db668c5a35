# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A compose file, already parsed: every service of it that runs vLLM.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...versions import Version
from ..errors import AuditError
from ..subject import COMPOSE, Container, Problem, Subject
from .compose_parts import devices, interpolated, memory, ports, restart, seconds, size, words
from .inside import read_inside
from .parts import environment, scalar
from .reach import reached_on

_KEY = "VLLM_API_KEY"
_KEYS = re.compile(r"^( *)(?:\"([^\"]+)\"|'([^']+)'|([^\s#:'\"][^:]*?)) *:(?:\s|$)")


def is_compose(given: Mapping[Any, Any]) -> bool:
    """Whether a map is a compose file: its services are maps that say how a container is run."""
    found = given.get("services")
    return isinstance(found, Mapping) and any(
        isinstance(each, Mapping) and {"image", "command", "build", "extends"} & set(each) for each in found.values()
    )


def read_compose(
    given: Mapping[Any, Any], text: str | None, version: Version, name: str | None = None
) -> tuple[Subject, ...]:
    """Read the services that run vLLM; AuditError where there is none."""
    services = given.get("services")
    if not isinstance(services, Mapping):
        raise AuditError("the compose file has no map `services`")
    kept = {
        str(key): interpolated(each) for key, each in services.items() if isinstance(each, Mapping) and _runs_vllm(each)
    }
    if not kept:
        raise AuditError("no service of the compose file runs vLLM; expected an image or a command that names it")
    obsolete = scalar(given.get("version"))
    found = []
    for key, service in kept.items():
        named = key if name is None else (name if len(kept) == 1 else f"{name} {key}")
        raw = None if text is None else text_of_service(text, key)
        found.append(_service(service, named, raw, version, obsolete))
    return tuple(found)


def _runs_vllm(service: Mapping[Any, Any]) -> bool:
    said = [service.get(key) for key in ("image", "command", "entrypoint")]
    flat = [str(part) for each in said for part in (each if isinstance(each, list) else [each]) if part is not None]
    return "vllm" in " ".join(flat).lower()


def _service(service: Mapping[Any, Any], name: str, raw: str | None, version: Version, obsolete: str | None) -> Subject:
    problems: list[Problem] = []
    entrypoint = words(service, "entrypoint", problems)
    inside = read_inside(entrypoint, words(service, "command", problems) or ())
    known, bare = environment(service.get("environment") or {}) or ({}, [])
    if environment(service.get("environment") or {}) is None:
        problems.append(
            Problem("environment", "is neither a map nor a list of NAME=VALUE", "a map of names and values")
        )
    container = _container(service, entrypoint, tuple(bare), problems)
    return Subject(
        kind=COMPOSE,
        name=name,
        words=inside.words,
        command=inside.command,
        env={**known, **inside.env},
        container=container,
        host_bind=reached_on(inside.words, version, container),
        has_key=True if _KEY in bare else None,
        shell_text=inside.shell_text,
        compose_version_key=obsolete,
        raw_text=raw,
        problems=(*problems, *inside.problems),
    )


def _container(
    service: Mapping[Any, Any], entrypoint: tuple[str, ...] | None, bare: tuple[str, ...], problems: list[Problem]
) -> Container:
    check = _map(service.get("healthcheck"))
    test = check.get("test")
    off = check.get("disable") is True or test in (["NONE"], "NONE")
    logging = _map(_map(service.get("logging")).get("options"))
    return Container(
        runner=COMPOSE,
        image=scalar(service.get("image")),
        entrypoint=entrypoint,
        shm_bytes=size("shm_size", service.get("shm_size"), problems),
        ipc=scalar(service.get("ipc")),
        network=scalar(service.get("network_mode")),
        publishes=ports(service.get("ports"), problems),
        user=scalar(service.get("user")),
        restart=restart(service),
        memory_bytes=memory(service, problems),
        gpus=devices(service),
        mounts=_mounts(service.get("volumes")),
        env_files=_paths(service.get("env_file")),
        secret_env=bare,
        security_opts=_texts(service.get("security_opt")),
        ulimits=_ulimits(service.get("ulimits")),
        log_options=tuple(f"{key}={scalar(value) or ''}" for key, value in logging.items()),
        stop_seconds=seconds("stop_grace_period", service.get("stop_grace_period"), problems),
        has_healthcheck=False if off else (True if test else None),
        start_period_seconds=seconds("healthcheck.start_period", check.get("start_period"), problems),
    )


def _map(value: object) -> Mapping[Any, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    return tuple(text for text in map(scalar, listed) if text is not None)


def _paths(value: object) -> tuple[str, ...]:
    listed = value if isinstance(value, list) else [value]
    return _texts([each.get("path") if isinstance(each, Mapping) else each for each in listed])


def _mounts(value: object) -> tuple[str, ...]:
    """Short mounts as they are written, long ones in the form of ``--mount``."""
    found = []
    for each in value if isinstance(value, list) else []:
        if isinstance(each, Mapping):
            parts = [(key, scalar(each[key])) for key in ("type", "source", "target") if key in each]
            tail = ["readonly"] if each.get("read_only") is True else []
            found.append(",".join([*(f"{key}={text}" for key, text in parts if text is not None), *tail]))
        else:
            found += _texts(each)
    return tuple(found)


def _ulimits(value: object) -> tuple[str, ...]:
    found = []
    for name, limit in _map(value).items():
        both = [scalar(limit.get(key)) for key in ("soft", "hard")] if isinstance(limit, Mapping) else [scalar(limit)]
        found.append(f"{name}=" + ":".join(text for text in both if text is not None))
    return tuple(found)


def text_of_service(text: str, name: str) -> str:
    """The lines of one service; the whole text where they cannot be told apart (flow style)."""
    lines = text.splitlines()
    top = next((at for at, line in enumerate(lines) if re.match(r"services\s*:\s*(?:#.*)?$", line)), None)
    if top is None:
        return text
    begin, depth = None, 0
    for at in range(top + 1, len(lines)):
        line = lines[at]
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        if begin is not None and indent <= depth:
            return "\n".join(lines[begin:at])
        head = _KEYS.match(line)
        if begin is None and indent == 0:
            break
        if begin is None and head and name in head.groups()[1:]:
            begin, depth = at, indent
    return text if begin is None else "\n".join(lines[begin:])
