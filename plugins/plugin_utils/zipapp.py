# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Build the on-host tool: one zip of the collection's own module_utils that Python runs. Same sources, same bytes.

Private to the collection.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

PACKAGE = "ansible_collections/gpuhosts/vllm/plugins/module_utils"
_SHEBANG = b"#!/usr/bin/python3\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_FILE_MODE, _FOLDER_MODE = 0o100644, 0o040755
# The link to this program moves while an older one runs, and Python opens a zip again for each import:
# by its real path it finds the bytes that it began with. What was compiled of it for this very Python goes first.
_MAIN = """\
import os
import sys

program = os.path.realpath(sys.path[0])
compiled = f"{program}.{sys.implementation.cache_tag}"
sys.path[0] = compiled if os.path.isfile(compiled) else program
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.cli import main

raise SystemExit(main())
"""


@dataclass(frozen=True)
class Zipapp:
    """The built program."""

    data: bytes
    version: str

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def name(self) -> str:
        """The file name that it is installed under."""
        return f"vllm-host-{self.version}-{self.digest[:12]}.pyz"


def build(sources: Mapping[str, bytes], version: str) -> Zipapp:
    """Build it from ``sources`` (path below module_utils -> text)."""
    files = {f"{PACKAGE}/{name}": text for name, text in sources.items()}
    files["__main__.py"] = _MAIN.encode()
    files["gpuhosts_vllm_build.py"] = f"VERSION = {version!r}\n".encode()
    buffer = io.BytesIO()
    # Stored, not compressed: what deflate makes differs between versions of zlib.
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        # The folders are packages without an __init__.py; Python finds such ones in a zip by their own entries only.
        for name in sorted({*_folders(files), *files}):
            archive.writestr(_entry(name), files.get(name, b""))
    return Zipapp(_SHEBANG + buffer.getvalue(), version)


def collection_sources(root: Path) -> dict[str, bytes]:
    """The sources that the tool is built from: every Python file of module_utils."""
    base = root / "plugins/module_utils"
    return {path.relative_to(base).as_posix(): path.read_bytes() for path in sorted(base.rglob("*.py"))}


def collection_version(root: Path) -> str:
    """The version of the collection: of its manifest once it is installed, of galaxy.yml in a working tree."""
    manifest = root / "MANIFEST.json"
    if manifest.exists():
        return str(json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"])
    lines = (root / "galaxy.yml").read_text(encoding="utf-8").splitlines()
    return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("version:"))


def _folders(files: Mapping[str, bytes]) -> set[str]:
    return {f"{parent}/" for name in files for parent in PurePosixPath(name).parents if str(parent) != "."}


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.create_system = 3
    info.external_attr = (_FOLDER_MODE if name.endswith("/") else _FILE_MODE) << 16
    return info
