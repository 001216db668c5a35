# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The processes of a container past Docker, which may be gone while they live on. No decisions.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from ..host.parse import container_of
from .system import read_text

_ENDED = ("Z", "X", "x")


def of_container(container_id: str, proc: str = "/proc") -> dict[int, int]:
    """Every living process of a container with its parent."""
    pids = [int(folder.name) for folder in Path(proc).iterdir() if folder.name.isdigit()]
    inside = [pid for pid in pids if container_of(read_text(f"{proc}/{pid}/cgroup")) == container_id]
    found = {pid: read_text(f"{proc}/{pid}/stat").rpartition(")")[2].split() for pid in inside}
    return {pid: int(fields[1]) for pid, fields in found.items() if len(fields) > 1 and fields[0] not in _ENDED}


def ask_to_end(processes: dict[int, int]) -> None:
    """SIGTERM as Docker sends it: to the first process of the container only, which passes it on."""
    _signal([pid for pid, parent in processes.items() if parent not in processes], signal.SIGTERM)


def kill(processes: dict[int, int]) -> None:
    """SIGKILL to all of them."""
    _signal(list(processes), signal.SIGKILL)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
