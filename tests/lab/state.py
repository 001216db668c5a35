# SPDX-License-Identifier: Apache-2.0
"""The lab's folder on this machine: keys, downloads and what was built. Shared by all clones of the project."""

from __future__ import annotations

import fcntl
import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .steps import LabError, say

if TYPE_CHECKING:
    from collections.abc import Iterator

FOLDERS = ("engine", "model", "pki", "rootfs", "ssh", "tmp")
FILES = ("dockerd.log", "dockerd.pid", "lock", "pip.log")


def home() -> Path:
    """The state folder; `GPUHOSTS_LAB_HOME` moves it."""
    given = os.environ.get("GPUHOSTS_LAB_HOME")
    return Path(given) if given else Path.home() / ".cache" / "gpuhosts-vllm" / "lab"


def folder(*parts: str) -> Path:
    """A folder below the state folder, made when it is missing."""
    path = home().joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def private_key() -> Path:
    return home() / "ssh" / "id_ed25519"


def model_folder() -> Path:
    return home() / "model" / "tiny-llama"


def wipe() -> None:
    """Remove what the lab put into its folder, and the folder when it is empty then: somebody chose it."""
    for path in sorted(home().glob("*")):
        if path.is_dir() and path.name in FOLDERS:
            shutil.rmtree(path)
        elif path.name in FILES:
            path.unlink()
    with suppress(OSError):
        home().rmdir()


@contextmanager
def only_one() -> Iterator[None]:
    """Let one command at a time change the lab; another one waits and says so."""
    with (folder() / "lock").open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another command is changing the lab; waiting for it")
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError as error:
            message = (
                f"the lab's state folder {home()} cannot be locked ({error}): set GPUHOSTS_LAB_HOME to another one."
            )
            raise LabError(message) from error
        yield


def give_back() -> None:
    """After sudo: keys and model belong to who called, because Ansible and the tests run as that user."""
    owner = os.environ.get("SUDO_UID")
    if os.geteuid() != 0 or owner is None or not home().exists():
        return
    group = int(os.environ.get("SUDO_GID", "-1"))
    for path in (home(), *home().rglob("*")):
        os.chown(path, int(owner), group, follow_symlinks=False)
