# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Look at a service on this host, changing nothing; works on a bare host and with Docker down. No decisions.

Private to the collection.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..release.files import RECORD_NAME
from ..release.journal import Entry, JournalError
from ..release.paths import LABEL_SERVICE, STATE_ROOT, Paths
from ..release.service_state import ContainerSeen, ServiceState
from . import containers, starts, systemd
from .commands import Runner, run
from .files import is_locked, link_name, read_if_there
from .journals import read_journal


def observe(paths: Paths, *, runner: Runner = run) -> ServiceState:
    """Everything that plans and runs need to know of one service."""
    current, last_good = link_name(paths.current), link_name(paths.last_good)
    seen = _containers(paths, runner)
    entries, journal_error = _entries(paths)
    return ServiceState(
        name=paths.service,
        unit=systemd.show(paths.unit, runner=runner),
        current=current,
        last_good=last_good,
        stopped=paths.stopped.exists(),
        frozen=_frozen(paths),
        entries=entries,
        journal_error=journal_error,
        contents={name: content for name in (current, last_good) if name and (content := _content(paths, name))},
        starts=tuple(starts.state_of(paths, seq) for seq in starts.numbers(paths)),
        containers=None if seen is None else tuple(each.id for each in seen),
        container_states=seen or (),
        installed=paths.unit_file.exists(),
        comes_back=os.path.lexists(paths.boot_link),
        driver_alive=is_locked(paths.lease),
        run_of_this_boot=(read_if_there(paths.open_run) or "").strip() or None,
    )


def services_on_host(root: str = "/") -> list[str]:
    """The services that have something to run here: a current or a last good release, or a unit of ours."""
    return [name for name in state_folders(root) if _is_left(Paths(name, root))]


def state_folders(root: str = "/") -> list[str]:
    """The services that anything is known of here, also one that was removed or never came to run."""
    state_root = Path(root) / STATE_ROOT
    return sorted(folder.name for folder in state_root.iterdir() if folder.is_dir()) if state_root.is_dir() else []


def _is_left(paths: Paths) -> bool:
    return any(os.path.lexists(path) for path in (paths.current, paths.last_good, paths.unit_file))


def _entries(paths: Paths) -> tuple[tuple[Entry, ...], str | None]:
    try:
        return read_journal(paths).entries, None
    except JournalError as error:
        return (), str(error)


def _frozen(paths: Paths) -> str | None:
    text = read_if_there(paths.freeze)
    return None if text is None else text.strip()


def _content(paths: Paths, release_id: str) -> Mapping[str, Any]:
    try:
        data = json.loads(read_if_there(paths.release(release_id) / RECORD_NAME) or "{}")
    except ValueError:
        return {}
    content = data.get("content") if isinstance(data, dict) else None
    return content if isinstance(content, dict) else {}


def _containers(paths: Paths, runner: Runner) -> tuple[ContainerSeen, ...] | None:
    try:
        return tuple(containers.listed(LABEL_SERVICE, paths.service, runner=runner))
    except containers.DockerError:
        return None
