# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The secrets that a container was started with, kept beside newer ones for as long as it is there. No decisions.

Its log is kept when it ends, and what it may have printed by then are the values of its start.
Private to the collection.
"""

from __future__ import annotations

from pathlib import Path

from ..release.paths import Paths
from ..secrets_file import parse_secrets
from .files import read_if_there, remove, write_atomic


def keep(paths: Paths, text: str) -> None:
    """Keep the text of the secrets file before it is replaced, for root alone; the first one is the container's."""
    if paths.cid.exists() and not paths.earlier_secrets.exists():
        write_atomic(paths.earlier_secrets, text, 0o600)


def read(paths: Paths) -> dict[str, str]:
    """The earlier values; none when there are none."""
    return read_file(paths.earlier_secrets)


def read_file(path: Path) -> dict[str, str]:
    """The values of another file of secrets; none when it is not there or was damaged."""
    try:
        return parse_secrets(read_if_there(path) or "")
    except ValueError:
        return {}


def forget(paths: Paths) -> None:
    """Remove them: no container is left that was started with them."""
    if paths.earlier_secrets.exists():
        remove(paths.earlier_secrets)
