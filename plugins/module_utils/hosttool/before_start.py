# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""ExecStartPre: make room for a new start, and wait for its turn on its GPUs.

What an earlier start left is kept as evidence and removed first.

Private to the collection.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..host.ports import overlaps
from ..io import boots, containers, earlier_secrets, starts, systemd
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import link_name, make_folder, read_if_there, remove
from ..io.ports import listeners
from ..release.gate import NOT_BEGUN
from ..release.paths import LABEL_SERVICE, Paths
from ..release.record import ReleaseRecord
from . import engine
from .after_stop import finish_forgotten
from .committed import put_right
from .errors import ToolError
from .keeping import note
from .lost_starts import note_lost
from .scene import DOCKER_UNIT
from .service_args import current_record, parser, paths_of
from .start_lease import take


def main(argv: Sequence[str]) -> int:
    """The verb."""
    args = parser("before-start", "make room for a new start (called by the unit)").parse_args(argv)
    prepare(paths_of(args.service))
    return 0


def prepare(paths: Paths, *, runner: Runner = run, clock: Clock = CLOCK) -> int:
    """Open the folder of the new start, leave no container and no cid file, make the caches; gives its number.

    The start begins after the wait for its turn: only then its deadline runs. One that is stopped while it waits has
    its folder all the same.
    """
    put_right_said = put_right(paths)
    record = current_record(paths)
    make_folder(paths.volatile)
    note_lost(paths, clock)
    finish_forgotten(paths, runner=runner, clock=clock)
    seq = starts.begin(
        paths,
        {
            "release": link_name(paths.current),
            "run": (read_if_there(paths.open_run) or "").strip() or None,
            "invocation_id": os.environ.get("INVOCATION_ID", ""),
            "boot": {"marker": boots.marker(paths), "id": boots.kernel_id()},
            "gpus": record.content["gpus"],
            "docker_invocation": docker_invocation(runner),
            **({"put_right": put_right_said} if put_right_said else {}),
        },
    )
    try:
        engine.clear(paths, runner=runner)
        earlier_secrets.forget(paths)
        check_name(paths, runner=runner)
        check_port(paths, record, runner=runner)
        take(paths, seq, runner=runner, clock=clock)
        remove(paths.cid)
        make_caches(paths, record)
    except (containers.DockerError, ToolError, OSError) as error:
        down = isinstance(error, containers.DockerError)
        reason = f"Docker does not answer: {error}; see systemctl status docker" if down else str(error)
        note(paths, seq, {"ready": False, "verdict": NOT_BEGUN, "reason": reason})
        raise ToolError(f"{paths.service}: {reason}") from error
    return seq


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


def check_port(paths: Paths, record: ReleaseRecord, *, runner: Runner = run) -> None:
    """ToolError with the holder when somebody else has our port: Docker itself would not say who."""
    bind, port = record.content["bind"], record.content["port"]
    held = [each for each in listeners() if each.port == port and overlaps(each.address, bind)]
    if not held:
        return
    names = containers.publishing(port, runner=runner)
    holder = f"{held[0].process or 'a process'} (pid {held[0].pid or 'unknown'})"
    if names:
        holder = f"the container {', '.join(names)}"
    elif held[0].container:
        holder += f" in the container {held[0].container[:12]}"
    remedy = f"stop it, or give {paths.service} another port; look with: ss -ltnp 'sport = :{port}'"
    raise ToolError(f"port {port} on {held[0].address} is held by {holder}; {remedy}")


def make_caches(paths: Paths, record: ReleaseRecord) -> None:
    """Make the folders that the container mounts, the compile cache for its user alone: engines note secrets there."""
    make_folder(paths.hub_cache)
    cache = paths.compile_cache(record.host.image_id, record.host.uid)
    make_folder(cache, 0o700, (record.host.uid, record.host.gid))
