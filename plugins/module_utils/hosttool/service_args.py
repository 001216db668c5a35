# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The command line that most verbs share: one service by name.

Private to the collection.
"""

from __future__ import annotations

import argparse
import os

from ..io.files import link_name
from ..io.readers import may_read, reading_group
from ..io.releases import read_record
from ..release.paths import Paths
from ..release.record import ReleaseRecord
from ..services.names import service_name
from .errors import ToolError


def parser(verb: str, about: str) -> argparse.ArgumentParser:
    """A parser with the service as its first word."""
    made = argparse.ArgumentParser(prog=f"vllm-host {verb}", description=about)
    made.add_argument("service", help="the name of the service in the inventory")
    return made


def paths_of(service: str) -> Paths:
    """The places of a service; ToolError for a word that is no name of one (it becomes part of paths)."""
    try:
        return Paths(service_name(service), host_root())
    except ValueError as error:
        raise ToolError(f"{service!r} is no name of a service: expected {error}") from None


def readable_paths(service: str) -> Paths:
    """The places of a service that this user may read; ToolError for one who may not, before anything looks wrong."""
    paths = paths_of(service)
    if may_read(paths.root):
        return paths
    group = reading_group(paths.root)
    who = f"root and the group {group}" if group else "root alone"
    way = f"join it (usermod -aG {group} USER, then log in again)" if group else "name a group in vllm_status_group"
    raise ToolError(f"{service}: {paths.state.parent} is for {who}. Next: use sudo, or {way}")


def host_root() -> str:
    """The root of the host. Only tests set another one: it lets the verbs run without a systemd of their own."""
    return os.environ.get("VLLM_HOST_ROOT", "/")


def current_record(paths: Paths) -> ReleaseRecord:
    """The release that the service runs; ToolError when there is none."""
    release_id = link_name(paths.current)
    record = read_record(paths, release_id) if release_id else None
    if record is None:
        raise ToolError(f"{paths.service} has no current release in {paths.state}; deploy it from the inventory")
    return record
