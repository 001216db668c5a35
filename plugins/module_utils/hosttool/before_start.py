# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""ExecStartPre: make room for a new start. What an earlier one left is kept as evidence and removed first.

Private to the collection.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Sequence
from pathlib import Path

from ..io import containers, starts, systemd
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import link_name, make_folder, read_if_there, remove, write_atomic
from ..release.gate import NOT_BEGUN
from ..release.paths import LABEL_SERVICE, Paths
from ..release.record import ReleaseRecord
from . import engine
from .errors import ToolError
from .scene import DOCKER_UNIT
from .service_args import current_record, parser, paths_of


def main(argv: Sequence[str]) -> int:
    """The verb."""
    args = parser("before-start", "make room for a new start (called by the unit)").parse_args(argv)
    prepare(paths_of(args.service))
    return 0


def prepare(paths: Paths, *, runner: Runner = run, clock: Clock = CLOCK) -> int:
    """Open the folder of the new start, leave no container and no cid file, make the caches; gives its number."""
    record = current_record(paths)
    make_folder(paths.volatile)
    seq = starts.begin(
        paths,
        {
            "release": link_name(paths.current),
            "run": (read_if_there(paths.open_run) or "").strip() or None,
            "invocation_id": os.environ.get("INVOCATION_ID", ""),
            "boot": {"marker": boot_marker(paths), "id": boot_id()},
            "docker_invocation": docker_invocation(runner),
            "begun_at": clock.now(),
            "begun_monotonic": clock.monotonic(),
        },
    )
    try:
        clear(paths, runner=runner)
        check_name(paths, runner=runner)
    except (containers.DockerError, ToolError) as error:
        down = isinstance(error, containers.DockerError)
        reason = f"Docker does not answer: {error}; see systemctl status docker" if down else str(error)
        starts.update(paths, seq, {"ready": False, "verdict": NOT_BEGUN, "reason": reason})
        raise ToolError(f"{paths.service}: {reason}") from error
    remove(paths.cid)
    make_caches(paths, record)
    return seq


def clear(paths: Paths, *, runner: Runner = run) -> None:
    """End and remove what an earlier start left, and keep what it said."""
    for state in engine.own_containers(paths, runner=runner):
        ended = engine.end(state, engine.SHORT_GRACE, runner=runner)
        engine.close_start(paths, engine.start_of_container(paths, state.id), ended, runner=runner)


def docker_invocation(runner: Runner) -> str:
    """Which life of Docker this start has: one that ended unasked is told from it."""
    unit = systemd.show(DOCKER_UNIT, runner=runner)
    return unit.invocation_id if unit is not None else ""


def check_name(paths: Paths, *, runner: Runner = run) -> None:
    """ToolError when a container of somebody else has our name."""
    other = containers.inspect(paths.container, runner=runner)
    if other is not None and other.labels.get(LABEL_SERVICE) != paths.service:
        raise ToolError(
            f"a container named {paths.container} is not of this service (image {other.image[:19]}); "
            f"remove or rename it: docker rename {paths.container} NAME"
        )


def make_caches(paths: Paths, record: ReleaseRecord) -> None:
    """Make the folders that the container mounts, the compile cache owned by its user."""
    make_folder(paths.hub_cache)
    cache = paths.compile_cache(record.host.image_id, record.host.uid)
    make_folder(cache, 0o755, (record.host.uid, record.host.gid))


def boot_marker(paths: Paths) -> str:
    """One random word for as long as /run lasts: a lab host's reboot does not change the kernel's boot id."""
    known = read_if_there(paths.boot_marker)
    if known:
        return known.strip()
    word = f"{int(time.time())}-{secrets.token_hex(4)}"
    make_folder(paths.boot_marker.parent)
    write_atomic(paths.boot_marker, word + "\n")
    return word


def boot_id() -> str:
    """The kernel's id of this boot."""
    return (read_if_there(Path("/proc/sys/kernel/random/boot_id")) or "").strip()
