# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Registry manifests: an index with its children, or a single image.

Private to the collection.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
IMAGE_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
ACCEPT = ", ".join(INDEX_TYPES + IMAGE_TYPES)


@dataclass(frozen=True)
class Child:
    """One image of an index: which platform it is for and under which digest."""

    platform: str
    digest: str


def read_manifest(body: bytes) -> dict[str, Any]:
    """Read a manifest; ValueError when the registry answered something else."""
    data = json.loads(body)
    if not isinstance(data, dict):
        raise ValueError("a manifest is a JSON object")
    return data


def is_index(media_type: str, manifest: dict[str, Any]) -> bool:
    """Whether this is an index; registries that do not say a type are judged by the content."""
    kind = str(manifest.get("mediaType") or media_type.split(";", maxsplit=1)[0].strip())
    return kind in INDEX_TYPES or (kind not in IMAGE_TYPES and "manifests" in manifest)


def children_of(manifest: dict[str, Any]) -> tuple[Child, ...]:
    """The images of an index by platform; attestations (platform unknown) are none. The first of a platform wins."""
    found: dict[str, Child] = {}
    for entry in manifest.get("manifests") or ():
        platform = platform_text(entry.get("platform") or {})
        if "unknown" not in platform and entry.get("digest"):
            found.setdefault(platform, Child(platform, str(entry["digest"])))
    return tuple(found[platform] for platform in sorted(found))


def platform_text(platform: dict[str, Any]) -> str:
    """Write a platform the way ``docker --platform`` does; arm64's only variant goes without saying."""
    system, machine = platform.get("os") or "unknown", platform.get("architecture") or "unknown"
    variant = platform.get("variant")
    named = variant and not (machine == "arm64" and variant == "v8")
    return f"{system}/{machine}/{variant}" if named else f"{system}/{machine}"


def compressed_bytes(manifest: dict[str, Any]) -> int | None:
    """What a pull of this image moves: its layers and its configuration; None when the manifest does not say."""
    layers = manifest.get("layers")
    if not isinstance(layers, list):
        return None
    parts = [*layers, manifest.get("config") or {}]
    return sum(int(part.get("size") or 0) for part in parts)
