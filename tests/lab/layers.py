# SPDX-License-Identifier: Apache-2.0
"""Layers of the lab's images: those of an image of this machine's engine, and those packed from a folder."""

from __future__ import annotations

import gzip
import json
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import state
from .oci import Layer
from .shell import as_root
from .steps import LabError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

    import docker

    from .registry_api import Registry

CHUNK = 1 << 20
GZIP_MAGIC = b"\x1f\x8b"


def _chunks(handle: IO[bytes]) -> Iterator[bytes]:
    while chunk := handle.read(CHUNK):
        yield chunk


def from_folder(registry: Registry, repository: str, folder: Path, what: str) -> Layer:
    """Send a folder as a layer, all files owned by root; nothing is written to disk on the way."""
    command = ["tar", "-C", str(folder), "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-c", "."]
    with subprocess.Popen(as_root(command), stdout=subprocess.PIPE) as packing:
        assert packing.stdout is not None
        digest, size = registry.put_stream(repository, _chunks(packing.stdout))
    if packing.returncode != 0:
        message = f"packing {folder} failed (tar: exit {packing.returncode}); is the disk full? See: df -h {folder}"
        raise LabError(message)
    return Layer(digest, size, what)


def from_image(client: docker.DockerClient, registry: Registry, repository: str, tag: str) -> tuple[Layer, ...]:
    """Send the layers of an image that this machine's engine has."""
    with tempfile.TemporaryFile(dir=state.folder("tmp")) as saved:
        for chunk in client.images.get(tag).save(chunk_size=CHUNK):
            saved.write(chunk)
        saved.seek(0)
        with tarfile.open(fileobj=saved) as archive:
            return tuple(_saved_layers(archive, registry, repository))


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    handle = archive.extractfile(name)
    if handle is None:
        message = f"docker save left no {name}; is this Docker older than 20.10? See: docker version"
        raise LabError(message)
    return handle


def _saved_layers(archive: tarfile.TarFile, registry: Registry, repository: str) -> Iterator[Layer]:
    described: dict[str, Any] = json.load(_member(archive, "manifest.json"))[0]
    diff_ids = json.load(_member(archive, described["Config"]))["rootfs"]["diff_ids"]
    for name, diff_id in zip(described["Layers"], diff_ids):
        size = _plain_size(archive, name)
        if not registry.has(repository, diff_id):
            registry.put_stream(repository, _chunks(_plain(archive, name)))
        yield Layer(diff_id, size, "base image")


def _plain(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    """The layer uncompressed: engines with the containerd store save it compressed."""
    compressed = _member(archive, name).read(2) == GZIP_MAGIC
    handle = _member(archive, name)
    return gzip.GzipFile(fileobj=handle) if compressed else handle  # type: ignore[return-value]


def _plain_size(archive: tarfile.TarFile, name: str) -> int:
    handle = _plain(archive, name)
    return (
        sum(len(chunk) for chunk in _chunks(handle))
        if isinstance(handle, gzip.GzipFile)
        else archive.getmember(name).size
    )


def copied(registry: Registry, layers: tuple[Layer, ...], source: str, repository: str) -> None:
    """Let another repository of the same registry have these layers."""
    for layer in layers:
        if not registry.has(repository, layer.digest) and not registry.mount(repository, layer.digest, source):
            message = (
                f"the lab's registry did not copy a layer from {source} to {repository}; run: python -m tests.lab up"
            )
            raise LabError(message)
