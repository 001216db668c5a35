# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Open a run: its first record, and the file that lets an uncommitted service start in this boot.

Private to the collection.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..io import systemd
from ..io.clock import CLOCK, Clock
from ..io.commands import Runner, run
from ..io.files import lease, link_name, make_folder, remove, write_atomic
from ..io.host_tool import linked
from ..io.journals import append_entry, read_journal
from ..release import journal
from ..release.paths import TOOL_LINK, Paths
from ..release.states import ABORTED, STAGED
from .errors import RunIsOpen, ToolError


@dataclass(frozen=True)
class Request:
    """What a human asked for."""

    kind: str
    release: str | None
    by: str = ""
    why: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


def open_run(paths: Paths, request: Request, *, runner: Runner = run, clock: Clock = CLOCK) -> str:
    """Write the run's first record and give its id; RunIsOpen while another run is."""
    now = clock.now()
    run_id = f"{request.kind}-{now[:19].replace('-', '').replace(':', '')}Z-{secrets.token_hex(3)}"
    make_folder(paths.volatile)
    with lease(paths.lease, run_id) as held:
        others = journal.open_run(read_journal(paths).entries)
        if not held or others:
            other = others[0].run if others else "another run"
            raise RunIsOpen(f"{paths.service}: {other} has not ended; wait for it: vllm-host status {paths.service}")
        write_atomic(paths.progress, "")
        write_atomic(paths.open_run, run_id + "\n")
        for left in (paths.awaits, paths.confirmed, paths.called_back):
            remove(left)
        append_entry(paths, _record(now, run_id, request, {**_before(paths, runner, clock), **request.data}))
    return run_id


def _before(paths: Paths, runner: Runner, clock: Clock) -> dict[str, Any]:
    """What a run has to know of the time before it, and the program that is to finish it."""
    unit = systemd.show(paths.unit, runner=runner)
    return {
        "previous": link_name(paths.current),
        "way_back": link_name(paths.last_good),
        "was_stopped": paths.stopped.exists(),
        "was_running": unit is not None and unit.is_running,
        "opened_monotonic": round(clock.monotonic(), 1),
        "tool": linked(paths.root)[TOOL_LINK],
    }


def start_driver(paths: Paths, *, runner: Runner = run, clock: Clock = CLOCK) -> None:
    """Let systemd drive the open run, so that it outlives whoever asked; a run that cannot be driven is aborted."""
    systemd.reset_failed(paths.driver_unit, runner=runner)
    argv = [_program(paths), "run", paths.service]
    result = systemd.start_transient(paths.driver_unit, argv, f"Run of vLLM service {paths.service}", runner=runner)
    if result.ok or "already" in result.err:  # somebody else was quicker to start the very same driver
        return
    message = f"its driver could not be started: {result.err.strip() or result.out.strip()}"
    records = journal.open_run(read_journal(paths).entries)
    if len(records) == 1:
        first = records[0]
        append_entry(
            paths,
            journal.Entry(clock.now(), first.run, first.kind, ABORTED, journal.DONE, first.release, message=message),
        )
        remove(paths.open_run)
    raise ToolError(f"{paths.service}: {message}; look at: journalctl -u {paths.driver_unit}")


def _program(paths: Paths) -> str:
    """The program that opened the run, so that none finishes what another one began; else the present one."""
    records = journal.open_run(read_journal(paths).entries)
    began = records[0].data.get("tool") if records else None
    return str(began) if began and Path(str(began)).is_file() else f"/{TOOL_LINK}"


def _record(now: str, run_id: str, request: Request, data: Mapping[str, Any]) -> journal.Entry:
    return journal.Entry(
        at=now,
        run=run_id,
        kind=request.kind,
        state=STAGED,
        phase=journal.DONE,
        release=request.release,
        by=request.by,
        why=request.why,
        data=data,
    )
