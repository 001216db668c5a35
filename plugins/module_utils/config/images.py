# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The images of a release of vLLM: their CUDA, which tags there are, what driver and GPU they need.

Private to the collection.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from ..versions import Version, parse_version
from ._images import IMAGES
from .releases import in_force

_PLAIN = "plain"


def cuda(version: Version, variant: str = "") -> str:
    """The CUDA version of an image; of a variant that is not known or not published, that of the plain tag."""
    found = in_force(_data()["variants"].get(variant, {}), version)
    return str(in_force(_data()["variants"][""], version) if found in (None, _PLAIN) else found)


def published(version: Version, variant: str) -> bool | None:
    """Whether the release scripts publish the tag ``v<version><variant>``; None where nothing is known of it."""
    history = _data()["variants"].get(variant)
    return None if history is None else in_force(history, version) is not None


def gone_since(variant: str, version: Version) -> Version | None:
    """The release that first lacks a variant that earlier ones had, where this version lacks it too."""
    gone: Version | None = None
    for since, value in _data()["variants"].get(variant, {}).items():
        release = parse_version(since)
        if release <= version:
            gone = release if value is None else None
    return gone


def variants(version: Version) -> tuple[str, ...]:
    """The variants that a version has, the plain tag first."""
    return tuple(name for name in _data()["variants"] if published(version, name))


def driver_floor(cuda_version: str) -> str | None:
    """The least driver of the host for an image of this CUDA; None where it is not known."""
    floors: dict[str, str] = _data()["driver_floors"]
    return floors.get(cuda_version.partition(".")[0])


def least_capability(version: Version) -> str:
    """The least compute capability of a GPU that a version supports: ``7.5``."""
    return str(in_force(_data()["capability"], version))


def serve_is_entrypoint(version: Version) -> bool:
    """Whether the image runs ``vllm serve``; before, the api_server module, to which the model is an option."""
    return version >= parse_version(_data()["serve_is_entrypoint_since"])


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(IMAGES)
    return data
