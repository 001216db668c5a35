# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The container's options that have a shape of their own: mounts and limits.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .docker_args import owned_target
from .model import Model, Mount
from .names import path
from .owned import OWNED_SOURCES, OWNED_TARGETS
from .problems import EXPOSURE, Complaints, nearest
from .schema import MOUNT_KEYS, by_name
from .typed import read_typed

_LIMITS = set(
    [
        "core",
        "cpu",
        "data",
        "fsize",
        "locks",
        "memlock",
        "msgqueue",
        "nice",
        "nofile",
        "nproc",
        "rss",
        "rtprio",
        "rttime",
        "sigpending",
        "stack",
    ]
)
_LIMIT = re.compile(r"(-1|\d{1,18})(?::(-1|\d{1,18}))?")
_LIMIT_VALUE = "a number, -1 for unlimited, or soft:hard in quotes with soft at most hard"


def read_mounts(mounts: Sequence[Any], model: Model | None, complaints: Complaints) -> tuple[Mount, ...]:
    """Judge the mounts, one by one and together."""
    read = [(index, _mount(value, f"mounts[{index}]", complaints)) for index, value in enumerate(mounts)]
    found = [(index, mount) for index, mount in read if mount is not None]
    taken = [model.name] if model is not None and model.kind == "path" else []
    for index, mount in found:
        if mount.target in taken:
            complaints.at(
                f"mounts[{index}].target", mount.target, "each target once; the model's path is mounted already"
            )
        taken.append(mount.target)
    return tuple(mount for _index, mount in found)


def _mount(value: object, key: str, complaints: Complaints) -> Mount | None:
    if not isinstance(value, Mapping):
        complaints.at(key, value, "a map: {source: /on/the/host, target: /in/the/container, read_only: true}")
        return None
    fields = read_typed(value, by_name(MOUNT_KEYS), complaints, prefix=f"{key}.")
    source = _folder(fields.get("source"), f"{key}.source", complaints)
    target = _folder(fields.get("target"), f"{key}.target", complaints)
    if source is None or target is None:
        return None
    if owned_target(target):
        complaints.at(
            f"{key}.target", target, f"targets outside {', '.join(OWNED_TARGETS)}, which the collection fills"
        )
    if _shows_our_folders(source):
        allowed = f"sources that are not, and do not hold, {', '.join(OWNED_SOURCES)}: secrets and releases lie there"
        complaints.at(f"{key}.source", source, allowed, rank=EXPOSURE)
    return Mount(source, target, bool(fields["read_only"]))


def _folder(value: object, key: str, complaints: Complaints) -> str | None:
    if not isinstance(value, str):
        return None  # a missing or wrongly typed path was complained of already
    try:
        return path(value)
    except ValueError as error:
        complaints.at(key, value, str(error))
        return None


def _shows_our_folders(source: str) -> bool:
    here = source.rstrip("/") + "/"
    return any((own + "/").startswith(here) or here.startswith(own + "/") for own in OWNED_SOURCES)


def read_ulimits(limits: Mapping[str, Any], complaints: Complaints) -> tuple[tuple[str, str], ...]:
    """Judge the limits; Docker is told ``name=soft[:hard]``."""
    good = []
    for name, value in sorted(limits.items()):
        text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
        if name not in _LIMITS:
            near = nearest(name, _LIMITS)
            complaints.say(f"ulimits.{name}", "no such limit", ", ".join(sorted(_LIMITS)), nearest=near)
        elif not _limit_is_good(text):
            complaints.at(f"ulimits.{name}", value, _LIMIT_VALUE)
        else:
            good.append((name, text))
    return tuple(good)


def _limit_is_good(text: str) -> bool:
    match = _LIMIT.fullmatch(text)
    if not match:
        return False
    soft, hard = int(match.group(1)), int(match.group(2) or match.group(1))
    return hard == -1 or (soft != -1 and soft <= hard)
