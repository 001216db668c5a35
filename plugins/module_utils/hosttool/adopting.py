# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Take over a server that somebody started by hand, within the run that starts ours; and give it back.

Both can be done twice. Until the run is committed the old container is kept, stopped and under another name.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..adopt.naming import BEFORE
from ..io import containers, systemd
from ..io.commands import Result
from ..io.ports import listeners
from .steps import Context, StepFailed

_ASK, _PORT_WAIT, _LOOK = 60.0, 20.0, 0.2
_UNIT_STOP = 900.0


def adopted(context: Context) -> Mapping[str, Any] | None:
    """What the run takes over; None for a run that adopts nothing."""
    found = context.opening.data.get("adopt")
    return found if isinstance(found, Mapping) and found.get("container_id") else None


def holds_port(context: Context, port: int) -> bool:
    """Whether the server that is about to be taken over has the port: it lets go of it before our start."""
    adopt = adopted(context)
    if adopt is None:
        return False
    if str(adopt["container"]) in containers.publishing(port, runner=context.runner):
        return True
    return any(each.container == adopt["container_id"] for each in listeners() if each.port == port)


def take_over(context: Context) -> None:
    """Stop and disable the old supervisor, keep the container under another name, and wait for the port."""
    adopt = adopted(context)
    if adopt is None:
        return
    try:
        _stop(context, adopt)
    except containers.DockerError as error:
        raise StepFailed(f"{adopt['container']} could not be stopped: {error}") from error
    _await_port(context, int(adopt["port"]))
    context.say(f"adopting: {adopt['container']} is stopped{_kept(context, adopt)}")


def _stop(context: Context, adopt: Mapping[str, Any]) -> None:
    unit, old = adopt.get("unit"), str(adopt["container_id"])
    if unit:
        if adopt.get("unit_enabled"):  # without a reload: it would take the GPUs from other containers on some hosts
            _must(context, ["systemctl", "disable", "--no-reload", "--quiet", str(unit)])
        _must(context, ["systemctl", "stop", str(unit)], _UNIT_STOP)
        systemd.reset_failed(str(unit), runner=context.runner)
    seen = containers.inspect(old, runner=context.runner)
    if seen is None:
        return
    if not adopt.get("auto_remove"):
        _must(context, ["docker", "update", "--restart=no", old])
    if seen.is_running:
        grace = float(adopt.get("grace") or 10)
        result = containers.stop(old, grace, runner=context.runner)
        if not result.ok:
            raise containers.DockerError(containers.docker_reason(result))
    if not adopt.get("auto_remove") and seen.name != _before(adopt):
        _must(context, ["docker", "rename", old, _before(adopt)])


def _await_port(context: Context, port: int) -> None:
    until = context.clock.monotonic() + _PORT_WAIT
    while held := [each for each in listeners() if each.port == port]:
        if context.clock.monotonic() >= until:
            holder = f"{held[0].process or 'a process'} (pid {held[0].pid or 'unknown'})"
            raise StepFailed(f"port {port} is still held by {holder} after the old server was stopped")
        context.clock.sleep(_LOOK)


def give_back(context: Context) -> str:
    """Let the old supervisor have its server again; what to say of it, nothing where nothing was adopted."""
    adopt = adopted(context)
    if adopt is None:
        return ""
    try:
        return _start_again(context, adopt)
    except containers.DockerError as error:
        by_hand = f"systemctl start {adopt['unit']}" if adopt.get("unit") else f"docker start {adopt['container']}"
        raise StepFailed(f"the old server could not be started again: {error}; on the host: {by_hand}") from error


def _start_again(context: Context, adopt: Mapping[str, Any]) -> str:
    unit, old, name = adopt.get("unit"), str(adopt["container_id"]), str(adopt["container"])
    seen = containers.inspect(old, runner=context.runner)
    if seen is not None:
        if seen.name == _before(adopt):
            _must(context, ["docker", "rename", old, name])
        if not adopt.get("auto_remove"):
            _must(context, ["docker", "update", f"--restart={adopt.get('restart') or 'no'}", old])
    if unit:
        if adopt.get("unit_enabled"):
            _must(context, ["systemctl", "enable", "--no-reload", "--quiet", str(unit)])
        systemd.reset_failed(str(unit), runner=context.runner)
        _must(context, ["systemctl", "start", str(unit)], _UNIT_STOP)
        return f"; the unit {unit} runs again"
    if seen is None:
        return f"; {name} is gone: it was started with --rm"
    if not seen.is_running:
        _must(context, ["docker", "start", old])
    return f"; the container {name} runs again, as it was"


def _before(adopt: Mapping[str, Any]) -> str:
    return f"{adopt['container']}{BEFORE}"


def _kept(context: Context, adopt: Mapping[str, Any]) -> str:
    seen = containers.inspect(str(adopt["container_id"]), runner=context.runner)
    return f" and kept as {seen.name}" if seen is not None else ""


def _must(context: Context, argv: list[str], timeout: float = _ASK) -> Result:
    result = context.runner(argv, timeout=timeout)
    if not result.ok:
        raise containers.DockerError(f"{' '.join(argv[:2])}: {containers.docker_reason(result)}")
    return result
