# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Take secrets out of the notes that vLLM keeps beside its compile cache.

From 0.12 to 0.28 it writes all its variables there, VLLM_API_KEY among them. It never reads them, and writes them only
where they are not yet: without the value they stay without it. The folder belongs to the container's user, so nothing
here follows a link, waits for a pipe or makes a file.
Private to the collection.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ..release.redact import Redactor

NOTES = "cache_key_factors.json"
_FOLDERS = ("*/*/*", "*/*")
_LARGEST = 1 << 20


def take_out_secrets(cache: Path, redactor: Redactor) -> list[Path]:
    """Rewrite the notes that hold a secret, in place; the files that were."""
    root = cache / "vllm" / "torch_compile_cache"
    notes = [path for depth in _FOLDERS for path in sorted(root.glob(f"{depth}/{NOTES}"))]
    return [path for path in notes if _rewrite(path, redactor)]


def _rewrite(path: Path, redactor: Redactor) -> bool:
    with _opened(path) as descriptor:
        if descriptor is None:
            return False
        raw = os.read(descriptor, _LARGEST)
        without = redactor.line(raw.decode("utf-8", "replace")).encode("utf-8")
        if without == raw:
            return False
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.ftruncate(descriptor, 0)
        os.write(descriptor, without)
        os.fsync(descriptor)
        return True


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int | None]:
    """The file for reading and writing; None for what is no small file, or gone."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        about = os.fstat(descriptor)
        yield descriptor if stat.S_ISREG(about.st_mode) and about.st_size <= _LARGEST else None
    finally:
        os.close(descriptor)
