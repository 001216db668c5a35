# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A snapshot of a Hugging Face repository: which files it has, where they go, what proves that they are right.

Private to the collection.
"""

from __future__ import annotations

import fnmatch
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import PurePosixPath
from typing import Any

# Copies of the same weights for other programs; vLLM reads none of them.
_OTHERS = ("original/*", "metal/*", "onnx/*", "openvino/*", "*.onnx", "*.msgpack", "*.h5", "*.ot", "*.mlmodel")
_OLD_WEIGHTS = ("pytorch_model*.bin", "pytorch_model*.bin.index.json", "consolidated*.pth")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubFile:
    """One file; digest is the SHA-256 of a large file or git's SHA-1 of a small one, as the hub names its blob."""

    path: str
    size: int | None
    digest: str | None


@dataclass(frozen=True)
class Listing:
    """What the hub says of one revision."""

    commit: str
    files: tuple[HubFile, ...]


def parse_listing(data: Mapping[str, Any]) -> Listing:
    """Read the hub's answer about a revision; ValueError when it is none."""
    commit = str(data.get("sha") or "")
    if not _COMMIT.fullmatch(commit):
        raise ValueError("the answer names no commit")
    return Listing(commit, tuple(_file(entry) for entry in data.get("siblings") or ()))


def _file(entry: Mapping[str, Any]) -> HubFile:
    large = entry.get("lfs") or {}
    size = large.get("size", entry.get("size"))
    digest = large.get("sha256") or large.get("oid") or entry.get("blobId")
    return HubFile(str(entry["rfilename"]), int(size) if size is not None else None, digest)


def needed_files(files: Iterable[HubFile]) -> tuple[HubFile, ...]:
    """The files that vLLM may read: no copies for other programs, no old format beside safetensors."""
    every = tuple(files)
    left_out: tuple[str, ...] = _OTHERS
    if any(each.path.endswith(".safetensors") and "/" not in each.path for each in every):
        left_out += _OLD_WEIGHTS
    return tuple(each for each in every if not any(fnmatch.fnmatch(each.path, pattern) for pattern in left_out))


def safe_path(path: str) -> bool:
    """Whether a name from the hub stays inside the snapshot."""
    pure = PurePosixPath(path)
    return bool(path) and not pure.is_absolute() and ".." not in pure.parts


def repository_folder(repository: str) -> str:
    """The name of a repository's folder in the cache of huggingface_hub."""
    return "models--" + repository.replace("/", "--")


def missing_bytes(files: Iterable[HubFile], cached: Mapping[str, int]) -> int | None:
    """What is still to be fetched, by the blobs that are there; None when the hub did not tell a size."""
    total = 0
    for each in files:
        if each.size is None:
            return None
        total += 0 if each.digest and cached.get(each.digest) == each.size else each.size
    return total


def blob_hash(digest: str, size: int) -> Any:
    """The hash that a blob of this name must have: SHA-256, or git's SHA-1, which begins with the size."""
    if _COMMIT.fullmatch(digest):
        return hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    return hashlib.sha256()


@dataclass(frozen=True)
class Manifest:
    """What was fetched and proven on this host, so that the next run only compares names and sizes."""

    repository: str
    revision: str
    commit: str
    files: tuple[HubFile, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain data."""
        return {"schema": 1, **asdict(self), "files": [asdict(each) for each in self.files]}


def manifest_from_dict(data: Mapping[str, Any]) -> Manifest | None:
    """Read it back; None when it is of another shape, which means: prove again."""
    try:
        files = tuple(HubFile(**entry) for entry in data["files"])
        return Manifest(str(data["repository"]), str(data["revision"]), str(data["commit"]), files)
    except (KeyError, TypeError):
        return None
