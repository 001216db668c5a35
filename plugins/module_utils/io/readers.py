# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who may read the state of the services: root, and the group of the folder that holds it all. No decisions.

One folder decides, so that no mode below it has to: what a start said may hold what users asked.
Private to the collection.
"""

from __future__ import annotations

import grp
import os
from pathlib import Path

from ..release.paths import STATE_ROOT, Paths
from .files import make_folder

STATE_MODE = 0o750
DOCKER_SOCKET = "/var/run/docker.sock"


def make_state(paths: Paths) -> None:
    """Make the folder of a service; the one above it is root's alone, until somebody gives it to a group."""
    if not paths.state.parent.is_dir():
        make_folder(paths.state.parent, STATE_MODE)
    make_folder(paths.state)


def may_read(root: str = "/") -> bool:
    """Whether this process may look into the state; also where there is none yet."""
    folder = Path(root) / STATE_ROOT
    return not os.path.lexists(folder) or os.access(folder, os.R_OK | os.X_OK)


def reading_group(root: str = "/") -> str | None:
    """The group that may read the state beside root; None when there is none."""
    gid = (Path(root) / STATE_ROOT).stat().st_gid
    if gid == 0:
        return None
    try:
        return grp.getgrgid(gid).gr_name
    except KeyError:
        return str(gid)


def may_ask_docker() -> bool:
    """Whether this process may talk to Docker, whether or not Docker answers."""
    return os.geteuid() == 0 or "DOCKER_HOST" in os.environ or os.access(DOCKER_SOCKET, os.W_OK)
