# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Single keys of a service in a compose file, each in the short and the long form.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..subject import Problem, Publish
from .parts import SIZE_EXPECTED, go_seconds, publish, scalar, size_bytes
from .shell import split_words

ENOUGH = 1 << 50  # a size that a variable says: nobody is warned of what is not known
WORDS = "a list of words, or one text"
_DEFAULT = re.compile(r"\$\$|\$\{[A-Za-z_][A-Za-z0-9_]*:?-([^${}]*)\}")
_MAX_DEPTH = 40


def interpolated(value: Any, depth: int = 0) -> Any:
    """The value as compose passes it on with an empty environment: defaults put in, ``$$`` as ``$``.

    A variable without a default stays as it is written: nobody knows what it will be.
    """
    if isinstance(value, str):
        return _DEFAULT.sub(lambda found: "$" if found.group(0) == "$$" else found.group(1), value)
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {key: interpolated(each, depth + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [interpolated(each, depth + 1) for each in value]
    return value


def words(service: Mapping[Any, Any], key: str, problems: list[Problem]) -> tuple[str, ...] | None:
    """A command or an entry point, None where the service leaves it to the image."""
    value = service.get(key)
    if value is None:
        return None
    if isinstance(value, list):
        read = [scalar(each) for each in value]
        if all(each is not None for each in read):
            return tuple(each for each in read if each is not None)
    elif scalar(value) is not None:
        found, faults = split_words((scalar(value) or "").replace("\n", " "))
        problems += faults
        return tuple(found)
    problems.append(Problem(key, f"cannot be read; {WORDS} is expected", WORDS))
    return None


def size(where: str, value: object, problems: list[Problem]) -> int | None:
    """A size in bytes; what is none becomes a problem."""
    if value is None:
        return None
    if isinstance(value, str) and "$" in value:
        return ENOUGH
    read = size_bytes(value)
    if read is None:
        problems.append(Problem(where, f"{str(value)[:80]!r} is no size", SIZE_EXPECTED))
    return read


def seconds(where: str, value: object, problems: list[Problem]) -> float | None:
    """A time in seconds; what is none becomes a problem."""
    if value is None or (isinstance(value, str) and "$" in value):
        return None
    read = go_seconds(value)
    if read is None:
        problems.append(Problem(where, f"{str(value)[:80]!r} is no time", "a time such as 90s or 30m"))
    return read


def memory(service: Mapping[Any, Any], problems: list[Problem]) -> int | None:
    """The limit of memory, in the old key or the new one."""
    said = inner(service, "deploy", "resources", "limits").get("memory", service.get("mem_limit"))
    return size("memory", said, problems)


def inner(value: object, *keys: str) -> Mapping[Any, Any]:
    """The map below the keys, an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def restart(service: Mapping[Any, Any]) -> str | None:
    """The restart policy; ``restart: no`` is a boolean in YAML."""
    said = service.get("restart")
    if said is None:
        condition = scalar(inner(service, "deploy", "restart_policy").get("condition", _default_condition(service)))
        return {"any": "always", "none": "no"}.get(condition or "", condition)
    return "no" if said is False else scalar(said)


def _default_condition(service: Mapping[Any, Any]) -> str | None:
    return "any" if "restart_policy" in inner(service, "deploy") else None


def devices(service: Mapping[Any, Any]) -> str | None:
    """The GPUs that the service gets: ``all``, a number, or the ids; None where it asks for none."""
    said = service.get("gpus")
    if said is not None and not isinstance(said, list):
        return scalar(said)
    listed = said if isinstance(said, list) else inner(service, "deploy", "resources", "reservations").get("devices")
    for each in listed if isinstance(listed, list) else []:
        if not isinstance(each, Mapping):
            continue
        ids = each.get("device_ids")
        if isinstance(ids, list):
            return "device=" + ",".join(filter(None, map(scalar, ids)))
        return scalar(each.get("count")) or "all"
    runtime = scalar(service.get("runtime"))
    return "all" if runtime is not None and "nvidia" in runtime else None


def ports(value: object, problems: list[Problem]) -> tuple[Publish, ...]:
    """Published ports, short and long; what is neither becomes a problem."""
    found = []
    for each in value if isinstance(value, list) else ([] if value is None else [value]):
        text = scalar(each)
        if text is not None:
            found.append(publish(text))
        elif isinstance(each, Mapping) and scalar(each.get("target")) is not None:
            parts = [scalar(each.get(key)) or "" for key in ("host_ip", "published", "target")]
            found.append(Publish(parts[0].strip("[]"), parts[1], parts[2]))
        else:
            problems.append(
                Problem("ports", "has an entry that is no port", "127.0.0.1:8000:8000, or a map with target")
            )
    return tuple(found)
