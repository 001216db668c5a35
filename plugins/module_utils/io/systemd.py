# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask systemd about a unit, and tell it to start or stop one. No decisions.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..release.service_state import UnitState
from .commands import Result, Runner, run

_PROPERTIES = {
    "LoadState": "load",
    "ActiveState": "active",
    "SubState": "sub",
    "Result": "result",
    "InvocationID": "invocation_id",
    "MainPID": "main_pid",
    "StatusText": "status_text",
}


def show(unit: str, *, runner: Runner = run) -> UnitState | None:
    """What systemd says of a unit; None when systemd does not answer (no systemd here)."""
    result = runner(["systemctl", "show", "--no-pager", f"--property={','.join(_PROPERTIES)}", unit], timeout=20.0)
    return parse_show(result.out) if result.ok else None


def parse_show(text: str) -> UnitState:
    """Read ``systemctl show``: one ``Key=value`` a line."""
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    fields = {name: pairs[key] for key, name in _PROPERTIES.items() if key in pairs}
    main_pid = int(fields.pop("main_pid", "0") or 0)
    return UnitState(main_pid=main_pid, **fields)


def start(unit: str, *, timeout: float, runner: Runner = run) -> Result:
    """Start a unit and wait for the end of the job, so for its gate."""
    return runner(["systemctl", "start", unit], timeout=timeout)


def stop(unit: str, *, timeout: float, runner: Runner = run) -> Result:
    """Stop a unit, also one that waits for an automatic restart, and wait until all of it has ended."""
    return runner(["systemctl", "stop", unit], timeout=timeout)


def reset_failed(unit: str, *, runner: Runner = run) -> Result:
    """Forget the failures of a unit, with its count of starts; it is fine when there was nothing to forget."""
    return runner(["systemctl", "reset-failed", unit], timeout=20.0)


def jobs(*, runner: Runner = run) -> dict[str, str]:
    """What systemd is about to do, by unit: ``stop``, ``restart``, ``start``; nothing when it does not answer."""
    result = runner(["systemctl", "list-jobs", "--no-pager", "--no-legend", "--plain", "--full"], timeout=20.0)
    lines = result.out.splitlines() if result.ok else []
    return {unit: kind for _number, unit, kind, *_state in (line.split() for line in lines if line.count(" ") > 1)}


def said_by_main(invocation_id: str, lines: int = 20, *, runner: Runner = run) -> list[str]:
    """What the main process of one invocation of a unit wrote to the journal, without what systemd said about it."""
    if not invocation_id:
        return []
    match = [f"_SYSTEMD_INVOCATION_ID={invocation_id}", "_COMM=docker"]
    result = runner(["journalctl", "--quiet", "--no-pager", "--output=cat", f"--lines={lines}", *match], timeout=10.0)
    return [line for line in result.out.splitlines() if line.strip()] if result.ok else []


def start_transient(unit: str, argv: Sequence[str], description: str, *, runner: Runner = run) -> Result:
    """Start a command as a service of its own that outlives whoever asked for it; one that is killed is begun again.

    So is one that says that it could not go on now (exit status 75, "temporary failure").
    """
    options = ["--quiet", "--collect", f"--unit={unit}", f"--description={description}"]
    properties = ["Type=exec", "Restart=on-abnormal", "RestartSec=1", "RestartForceExitStatus=75"]
    words = [*options, *(f"--property={each}" for each in properties)]
    return runner(["systemd-run", *words, "--", *argv], timeout=60.0)
