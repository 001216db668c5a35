# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Whether Docker can be asked without being started. No decisions.

Private to the collection.
"""

from __future__ import annotations

from .commands import Runner, run

_UNITS = ("docker.service", "docker.socket")
_DOWN = ("inactive", "failed", "auto-restart")
# The socket is there, also when somebody's question has woken Docker already and its start still has to wait.
_THERE = ("listening", "running")


def asleep(*, runner: Runner = run) -> str | None:
    """What Docker's unit is while systemd listens in its place; None where Docker may be asked.

    Asking then would start Docker, and with it every service that comes back with Docker. Where Docker has died, its
    restart waits for the ending of those services: whoever asks there while one ends waits for himself.
    """
    words = ["systemctl", "show", "--no-pager", "--property=Id,ActiveState,SubState", *_UNITS]
    asked = runner(words, timeout=20.0)
    states = dict(_state(block) for block in asked.out.split("\n\n")) if asked.ok else {}
    active, sub = states.get("docker.service", ("", ""))
    listens = states.get("docker.socket", ("", ""))[1] in _THERE
    down = active in _DOWN or sub.startswith(_DOWN)
    return f"docker.service is {active} ({sub})" if listens and down else None


def _state(block: str) -> tuple[str, tuple[str, str]]:
    pairs = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
    return pairs.get("Id", ""), (pairs.get("ActiveState", ""), pairs.get("SubState", ""))
