# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The processes that hold GPU memory, and those of a container with the time of their begin. No decisions.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import shutil
import signal
from collections.abc import Iterable, Mapping

from ..gpu.holders import QUERY, Holder, parse_holders
from ..gpu.query import QUERY as GPU_QUERY
from ..gpu.query import Gpu, parse_gpus
from ..host.parse import container_of
from ..release.freed import Seen
from . import container_processes
from .commands import Runner, run
from .system import read_text

_ASK = 20.0
_UID = re.compile(r"^Uid:\s+(\d+)", re.M)
_STARTED = 19


def is_installed() -> bool:
    """Whether the driver's tool is on this host."""
    return shutil.which("nvidia-smi") is not None


def holders(*, runner: Runner = run) -> tuple[tuple[Holder, ...], str]:
    """Who holds memory of a GPU, and why that could not be said; asks once."""
    asked = runner(list(QUERY), timeout=_ASK)
    if asked.ok:
        return parse_holders(asked.out), ""
    return (), " ".join(f"{asked.out} {asked.err}".split()) or f"status {asked.rc}"


def gpus(*, runner: Runner = run) -> tuple[Gpu, ...]:
    """The GPUs that answer; none where the tool fails."""
    asked = runner(list(GPU_QUERY), timeout=_ASK)
    return parse_gpus(asked.out) if asked.ok else ()


def started(containers: Iterable[str], proc: str = "/proc") -> dict[int, int]:
    """Every living process of these containers, with the time of its begin."""
    pids = [pid for each in containers if each for pid in container_processes.of_container(each, proc)]
    times = {pid: _fields(pid, proc) for pid in pids}
    return {pid: int(fields[_STARTED]) for pid, fields in times.items() if len(fields) > _STARTED}


def alive(processes: Mapping[int, int], proc: str = "/proc") -> tuple[Seen, ...]:
    """Those of the processes that are still there, wherever they are now; also those that are dead and not buried."""
    found = ((pid, _fields(pid, proc), began) for pid, began in processes.items())
    same = [pid for pid, fields, began in found if len(fields) > _STARTED and int(fields[_STARTED]) == began]
    return tuple(each for each in (process(pid, proc) for pid in same) if each is not None)


def process(pid: int, proc: str = "/proc") -> Seen | None:
    """A process as people know it; None when it is gone."""
    fields = _fields(pid, proc)
    if not fields:
        return None
    title = read_text(f"{proc}/{pid}/cmdline").partition("\0")[0].strip()
    name = title or read_text(f"{proc}/{pid}/comm").strip() or "a process"
    container = container_of(read_text(f"{proc}/{pid}/cgroup")) or ""
    return Seen(pid, name, fields[0], _owner(read_text(f"{proc}/{pid}/status")), container)


def kill(processes: Mapping[int, int], wanted: Iterable[int], proc: str = "/proc") -> None:
    """SIGKILL to those that are still the processes that they were."""
    for each in alive({pid: began for pid, began in processes.items() if pid in set(wanted)}, proc):
        with contextlib.suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)


def _fields(pid: int, proc: str) -> list[str]:
    return read_text(f"{proc}/{pid}/stat").rpartition(")")[2].split()


def _owner(status: str) -> str:
    match = _UID.search(status)
    if match is None:
        return ""
    try:
        return pwd.getpwuid(int(match.group(1))).pw_name
    except KeyError:
        return match.group(1)
