# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Put a file there with its text, mode and owner, and say whether anything had to change.

Private to the collection.
"""

from __future__ import annotations

import os
from pathlib import Path

from .files import make_folder, read_text, write_atomic


def ensure_file(
    path: Path, text: str, *, mode: int, owner: tuple[int, int], folder_mode: int, check: bool = False
) -> bool:
    """Make sure of a file and its folder; with ``check`` only say whether something would change. OSError as it comes.

    The folder's owner stays root: only its last part gets ``folder_mode``.
    """
    as_asked = _is_folder(path.parent, folder_mode) and _is_file(path, text, mode, owner)
    if as_asked or check:
        return not as_asked
    make_folder(path.parent, folder_mode)
    if read_text(path) != text:
        write_atomic(path, text, mode)
    path.chmod(mode)
    os.chown(path, *owner)
    return True


def _is_folder(path: Path, mode: int) -> bool:
    return path.is_dir() and path.stat().st_mode & 0o7777 == mode


def _is_file(path: Path, text: str, mode: int, owner: tuple[int, int]) -> bool:
    if read_text(path) != text:
        return False
    status = path.stat()
    return status.st_mode & 0o7777 == mode and (status.st_uid, status.st_gid) == owner
