# SPDX-License-Identifier: Apache-2.0
"""Build an image from a folder under tests/lab/images, tagged with the hash of all that goes into it."""

from __future__ import annotations

import hashlib
import io
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import docker

from . import names, rootfs
from .steps import LabError, step

if TYPE_CHECKING:
    from .debian import Source

FOLDER = Path(__file__).parent / "images"


@dataclass(frozen=True)
class Recipe:
    """A Dockerfile's folder and the image that it starts from."""

    name: str
    base: str
    suite: str
    common: bool = False  # a host: it also gets images/common

    def files(self) -> dict[str, bytes]:
        """The whole context."""
        folders = [FOLDER / "common"] * self.common + [FOLDER / self.name]
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for folder in folders
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix != ".pyc"
        }

    @property
    def tag(self) -> str:
        digest = hashlib.sha256(self.base.encode())
        for path, content in sorted(self.files().items()):
            digest.update(b"\0".join((path.encode(), hashlib.sha256(content).digest())))
        return f"{names.PREFIX}/{self.name}:{digest.hexdigest()[:12]}"


def context(recipe: Recipe, source: Source) -> bytes:
    """The build context as a tar. The mirror is put in here and not in the hash: it differs from machine to machine."""
    files = {
        **recipe.files(),
        "sources.list": source.sources_list(recipe.suite).encode(),
        "apt.conf": source.apt_conf().encode(),
    }
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for path, content in sorted(files.items()):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o755 if path.startswith("bin/") else 0o644
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def ensure(client: docker.DockerClient, recipe: Recipe, source: Source) -> str:
    """Build the image when it is missing; return its tag."""
    with rootfs.one_maker(recipe.tag):
        if not rootfs.present(client, recipe.tag):
            with step(f"build image {recipe.name}"):
                _build(client, recipe, source)
    return recipe.tag


def _build(client: docker.DockerClient, recipe: Recipe, source: Source) -> None:
    try:
        client.images.build(
            fileobj=io.BytesIO(context(recipe, source)),
            custom_context=True,
            tag=recipe.tag,
            rm=True,
            forcerm=True,
            labels={names.LABEL: "1"},
            buildargs={"BASE": recipe.base, **source.environment},
        )
    except docker.errors.BuildError as error:
        lines = [str(entry.get("stream") or entry.get("error") or "").strip() for entry in error.build_log]
        said = " | ".join([line for line in lines if line][-6:])
        message = (
            f"the image {recipe.name} could not be built ({said}); can this machine's containers reach the mirror?"
        )
        raise LabError(message) from error
