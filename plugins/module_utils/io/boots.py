# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which boot of the host this is. No decisions.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from pathlib import Path

from ..release.paths import Paths
from .files import make_folder, read_if_there, write_atomic


def marker(paths: Paths) -> str:
    """One random word for as long as /run lasts: a lab host's reboot does not change the kernel's boot id.

    Whoever asks first makes it; of several that ask at once, all get the same.
    """
    known = read_if_there(paths.boot_marker)
    if known:
        return known.strip()
    make_folder(paths.boot_marker.parent)
    offer = paths.boot_marker.with_name(f".{paths.boot_marker.name}.{os.getpid()}.offer")
    write_atomic(offer, f"{int(time.time())}-{secrets.token_hex(4)}\n")
    try:
        with contextlib.suppress(FileExistsError):
            os.link(offer, paths.boot_marker)
    finally:
        offer.unlink()
    return paths.boot_marker.read_text(encoding="utf-8").strip()


def kernel_id() -> str:
    """The kernel's id of this boot."""
    return (read_if_there(Path("/proc/sys/kernel/random/boot_id")) or "").strip()
