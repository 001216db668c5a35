# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The driver of a host against the CUDA that an image says it has, in its environment or its labels.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..config.images import driver_floor
from ..findings import ERROR, Finding
from ..versions import Version
from .platform import COMPATIBILITY, DRIVER, SOURCE_DRIVER, asks_for_compatibility, may_use_compatibility, numbers

_REQUIRED = re.compile(r"\bcuda>=(\d+(?:\.\d+)*)")
_CUDA, _REQUIRES = "CUDA_VERSION", "NVIDIA_REQUIRE_CUDA"
_LABELS = ("com.nvidia.cuda.version", "cuda_version")


@dataclass(frozen=True)
class DriverHost:
    """The driver of a host, and the name of its first GPU."""

    driver: str
    gpu: str = ""


def cuda_of_image(config: Mapping[str, object]) -> str | None:
    """The CUDA of an image from its ``Config`` as Docker has it; None for one that does not say."""
    env, labels = _words(config.get("Env")), config.get("Labels")
    known = labels if isinstance(labels, Mapping) else {}
    required = _REQUIRED.search(env.get(_REQUIRES, ""))
    candidates = (env.get(_CUDA), *(known.get(name) for name in _LABELS), required.group(1) if required else None)
    said = next((str(each) for each in candidates if each), "")
    match = re.match(r"\d+(?:\.\d+)*", said)
    return match.group(0) if match else None


def judge_driver(subject: str, cuda: str, host: DriverHost, version: Version, env: Mapping[str, str]) -> Finding | None:
    """A driver below what this CUDA needs, unless it is bridged; None where it is enough or nothing is known."""
    floor = driver_floor(cuda)
    have, least = numbers(host.driver), numbers(floor)
    if floor is None or have is None or least is None or have >= least:
        return None
    possible = may_use_compatibility(version, have, host.gpu)
    if possible and asks_for_compatibility(env):
        return None
    bridge = f", or set env {COMPATIBILITY}: '1' (forward compatibility, on data-centre GPUs)" if possible else ""
    return Finding(
        DRIVER,
        ERROR,
        f"{subject} {floor}",
        f"the image has CUDA {cuda}, which needs driver {floor} or newer; the host has {host.driver}: no GPU would be "
        "usable",
        expected=f"driver {floor} or newer",
        observed=host.driver,
        remedy=f"update the driver of the host{bridge}, or choose an image of an older CUDA",
        source=SOURCE_DRIVER,
    )


def _words(env: object) -> dict[str, str]:
    entries: Iterable[object] = env if isinstance(env, (list, tuple)) else ()
    return {name: value for name, _sign, value in (str(entry).partition("=") for entry in entries)}
