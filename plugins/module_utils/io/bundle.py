# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Write an evidence bundle: same parts, same bytes; all of it or nothing. No decisions.

Private to the collection.
"""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections.abc import Iterable
from pathlib import Path

from ..diagnose.budget import Part

MODE = 0o600


def pack(parts: Iterable[Part], folder: str, moment: int) -> bytes:
    """A tar.gz of plain files below one folder, sorted by name, of nobody, of one moment; no links, no devices."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for part in sorted(parts, key=lambda each: each.name):
            entry = tarfile.TarInfo(f"{folder}/{part.name}")
            entry.size, entry.mode, entry.mtime = len(part.data), MODE, moment
            archive.addfile(entry, io.BytesIO(part.data))
    return gzip.compress(packed.getvalue(), compresslevel=6, mtime=moment)


def write_bytes_atomic(path: Path, data: bytes, mode: int = MODE) -> None:
    """Let a file be there with all of these bytes, or not at all; it is nobody else's from its first byte on."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink()
        raise
