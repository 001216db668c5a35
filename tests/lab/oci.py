# SPDX-License-Identifier: Apache-2.0
"""Manifests, configurations and indexes of images, as bytes: pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .registry_api import INDEX_TYPES, MANIFEST_TYPES, digest_of

OCI, DOCKER = 0, 1  # which family of media types; registries hold both, so the lab does too
_LAYER = ("application/vnd.oci.image.layer.v1.tar", "application/vnd.docker.image.rootfs.diff.tar")
_CONFIG = ("application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json")
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Layer:
    """An uncompressed layer: its digest in the registry is its diff id."""

    digest: str
    size: int
    what: str


@dataclass(frozen=True)
class Document:
    """Bytes that go into the registry as they are."""

    content: bytes
    media_type: str

    @property
    def digest(self) -> str:
        return digest_of(self.content)


def _document(value: dict[str, Any], media_type: str) -> Document:
    return Document(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), media_type)


def image_config(layers: tuple[Layer, ...], run: dict[str, Any], architecture: str, family: int) -> Document:
    """The configuration: what to run, and the layers by content."""
    value = {
        "architecture": architecture,
        "os": "linux",
        "created": "2026-01-01T00:00:00Z",
        "config": run,
        "rootfs": {"type": "layers", "diff_ids": [layer.digest for layer in layers]},
        "history": [{"created": "2026-01-01T00:00:00Z", "created_by": layer.what} for layer in layers],
    }
    return _document(value, _CONFIG[family])


def image_manifest(layers: tuple[Layer, ...], config: Document, family: int) -> Document:
    value = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPES[family],
        "config": {"mediaType": _CONFIG[family], "size": len(config.content), "digest": config.digest},
        "layers": [{"mediaType": _LAYER[family], "size": layer.size, "digest": layer.digest} for layer in layers],
    }
    return _document(value, MANIFEST_TYPES[family])


def image_index(children: dict[str, Document], family: int) -> Document:
    """An index over children by architecture."""
    entries = [
        {
            "mediaType": child.media_type,
            "size": len(child.content),
            "digest": child.digest,
            "platform": {"os": "linux", "architecture": architecture},
        }
        for architecture, child in children.items()
    ]
    return _document({"schemaVersion": 2, "mediaType": INDEX_TYPES[family], "manifests": entries}, INDEX_TYPES[family])
