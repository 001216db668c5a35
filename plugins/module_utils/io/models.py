# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Models on a host: a folder somebody put there, or a snapshot in the Hugging Face cache. No decisions.

Private to the collection.
"""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path
from typing import Any

from ..models.folder import path_fault
from ..models.snapshot import Manifest, manifest_from_dict, repository_folder
from . import snapshot_program
from .files import make_folder, write_atomic
from .system import read_text


def look_at_path(name: str) -> str | None:
    """What is wrong with a model path on this host; None when it is a model."""
    path = Path(name)
    files = None
    try:
        files = [each.name for each in path.iterdir()] if path.is_dir() else None
        readable = os.access(path, os.R_OK)
    except OSError:
        readable = False
    return path_fault(name, path.exists(), readable, files)


def program() -> str:
    """The text of the program that fetches, as it is sent into the container."""
    return inspect.getsource(snapshot_program)


def repository_cache(cache: str, repository: str) -> Path:
    """Where huggingface_hub keeps a repository below the host's cache."""
    return Path(cache) / "hf" / "hub" / repository_folder(repository)


def cached_blobs(cache: str, repository: str) -> dict[str, int]:
    """The blobs that are here, also the incomplete ones, with their sizes."""
    found = {}
    for each in (repository_cache(cache, repository) / "blobs").glob("*"):
        try:
            found[each.name] = each.stat().st_size
        except OSError:
            continue
    return found


def manifest_path(cache: str, repository: str, revision: str) -> Path:
    """Where the proof of a snapshot is kept: outside of what containers see."""
    return Path(cache) / "models" / repository_folder(repository) / f"{revision.replace('/', '--')}.json"


def proven(cache: str, repository: str, revision: str) -> Manifest | None:
    """The manifest of a snapshot that was proven here and is still complete: every file there, in the same size."""
    try:
        data = json.loads(read_text(manifest_path(cache, repository, revision)) or "null")
    except ValueError:
        return None
    manifest = manifest_from_dict(data) if isinstance(data, dict) else None
    if manifest is None:
        return None
    snapshot = snapshot_path(cache, manifest)
    complete = all(_same(snapshot / each.path, each.size, each.digest) for each in manifest.files)
    return manifest if manifest.files and complete else None


def snapshot_path(cache: str, manifest: Manifest) -> Path:
    """The folder of the snapshot on the host."""
    return repository_cache(cache, manifest.repository) / "snapshots" / manifest.commit


def _same(path: Path, size: int | None, digest: str | None) -> bool:
    try:
        blob = path.resolve(strict=True)
        return blob.stat().st_size == size and blob.name == digest
    except OSError:
        return False


def keep(cache: str, manifest: Manifest) -> None:
    """Write down what was proven."""
    path = manifest_path(cache, manifest.repository, manifest.revision)
    make_folder(path.parent)
    write_atomic(path, json.dumps(manifest.to_dict(), indent=1, sort_keys=True) + "\n")


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object that another program wrote; empty when it is not there or is none."""
    try:
        data = json.loads(read_text(path) or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
