# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The GPUs of a container as the key ``gpus``: requests of Docker, CDI names, or the NVIDIA runtime's variable.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

from ..findings import ERROR, WARNING
from .notes import Notes, owned
from .seen import Seen, maps, texts, whole

_CDI = "nvidia.com/gpu="
_VARIABLE = "NVIDIA_VISIBLE_DEVICES"
_NOTHING = ("", "none", "void")
_PATHS = ("/dev/nvidia", "/dev/dri", "/dev/kfd")

Gpus = Union[str, int, list[Union[str, int]]]


def read_gpus(seen: Seen, notes: Notes) -> Gpus:
    """What to ask for; ``none`` where nothing says that the container has a GPU."""
    requests = [
        found for each in maps(seen.host.get("DeviceRequests")) if (found := _of_request(each, notes)) is not None
    ]
    if len(requests) == 1:
        return requests[0]
    if requests:
        return _together(requests)
    if str(seen.host.get("Runtime") or "") == "nvidia" or seen.host.get("Privileged") is True:
        named = _of_names((seen.env(_VARIABLE) or "").split(","))
        if named != "none":
            owned(notes, "gpus", f"{_VARIABLE} becomes the key gpus; the host's own way of giving GPUs is used")
        return named
    if any(_host_path(each).startswith(_PATHS) for each in maps(seen.host.get("Devices"))):
        remedy = "list the GPUs under gpus; only NVIDIA GPUs can be given to a service"
        notes.say("gpu_devices", ERROR, "has its GPU by the path of a device", remedy, about="gpus")
    return "none"


def _of_request(request: Mapping[str, Any], notes: Notes) -> Gpus | None:
    names = texts(request.get("DeviceIDs"))
    if str(request.get("Driver") or "") == "cdi":
        foreign = [name for name in names if not name.startswith(_CDI)]
        if foreign:
            notes.say(
                "cdi_device",
                WARNING,
                f"the CDI device {', '.join(foreign)} is not carried over: write it under devices",
                about="devices",
            )
        return (
            _of_names([name[len(_CDI) :] for name in names if name.startswith(_CDI)])
            if names != tuple(foreign)
            else None
        )
    if names:
        return _of_names(list(names))
    count = whole(request.get("Count"))
    return "all" if count < 0 else (count or None)


def _of_names(names: list[str]) -> Gpus:
    told = [name.strip() for name in names if name.strip() not in _NOTHING]
    if "all" in told:
        return "all"
    return [int(name) if name.isdigit() else name for name in told] if told else "none"


def _together(requests: list[Gpus]) -> Gpus:
    """Several requests give what any of them gives."""
    if "all" in requests:
        return "all"
    lists = [each for each in requests if isinstance(each, list)]
    if lists:
        return list(dict.fromkeys(name for each in lists for name in each))
    return max((each for each in requests if isinstance(each, int)), default="none")


def _host_path(device: Mapping[str, Any]) -> str:
    return str(device.get("PathOnHost") or "")
