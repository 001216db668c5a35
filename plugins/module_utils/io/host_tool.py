# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The on-host tool as files: the program under its version and hash, and the links that people and units call.

Private to the collection.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from ..release.paths import HEALTH_LINK, TOOL_LINK, TOOL_ROOT
from .commands import Result, Runner, run
from .files import make_folder, switch_link, sync_folder

LINKS = (TOOL_LINK, HEALTH_LINK)


def program_path(name: str, root: str = "/") -> Path:
    """Where the program with this name is installed."""
    return Path(root) / TOOL_ROOT / name


def digest_of(path: Path) -> str | None:
    """The SHA-256 of a file; None when it is not there."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def linked(root: str = "/") -> dict[str, str | None]:
    """What the links point to now."""
    return {link: _target(Path(root) / link) for link in LINKS}


def install_program(source: Path, name: str, root: str = "/") -> None:
    """Put the program in its place, complete or not at all."""
    target = program_path(name, root)
    make_folder(target.parent)
    temporary = target.with_name(f".{name}.{os.getpid()}.new")
    with temporary.open("wb") as stream:
        stream.write(source.read_bytes())
        stream.flush()
        os.fsync(stream.fileno())
    temporary.chmod(0o755)
    temporary.replace(target)
    sync_folder(target.parent)


def compile_program(name: str, python: str, *, runner: Runner = run, root: str = "/") -> Result:
    """Let the program be compiled for the Python that the host will use: what fails here makes it slower only."""
    return runner([python, str(program_path(name, root)), "--compile"], timeout=60.0)


def self_check(name: str, python: str, *, runner: Runner = run, root: str = "/") -> Result:
    """Let the program look at itself with the Python that the host will use."""
    return runner([python, str(program_path(name, root)), "--self-check"], timeout=60.0)


def move_links(name: str, root: str = "/") -> None:
    """Let the links point to this program, one rename each."""
    for link in LINKS:
        path = Path(root) / link
        make_folder(path.parent)
        switch_link(path, f"/{TOOL_ROOT}/{name}")


def _target(link: Path) -> str | None:
    try:
        return str(link.readlink())
    except OSError:
        return None
