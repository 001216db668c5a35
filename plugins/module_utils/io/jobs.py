# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Long work that goes on when whoever asked for it is gone: a transient systemd unit, found again by its name.

A job is a folder below /run (gone at a reboot, as the work is) with its script, what it may see, its log and, at the
end, its exit status. Where systemd does not run, the script becomes a process of its own.
Private to the collection.
"""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .commands import Result, Runner, run
from .system import read_text

ROOT = "/run/gpuhosts-vllm-jobs"
_START = 30.0
_LOOK = 0.5


@dataclass(frozen=True)
class Job:
    """A named piece of work and its folder; what is in the folder ``secret`` is removed when the work ends."""

    name: str
    root: str = ROOT

    @property
    def folder(self) -> Path:
        """Where everything of this job is."""
        return Path(self.root) / self.name

    @property
    def secret(self) -> Path:
        """What nobody but the work itself may read."""
        return self.folder / "secret"

    @property
    def unit(self) -> str:
        """The transient unit that runs it."""
        return f"gpuhosts-vllm-job-{self.name}"

    def running(self) -> bool:
        """Whether the work goes on; a process of the same number that is another one does not count."""
        pid = read_text(self.folder / "pid").strip()
        return pid.isdigit() and str(self.folder) in read_text(f"/proc/{pid}/cmdline")

    def status(self) -> int | None:
        """The exit status; None while it runs, and when it was ended from outside."""
        text = read_text(self.folder / "rc").strip()
        return int(text) if text.isdigit() else None

    def log(self) -> str:
        """What the work has printed so far."""
        return read_text(self.folder / "log")

    def forget(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)


def start(job: Job, script: str, files: Mapping[str, tuple[str, int]], *, runner: Runner = run) -> Result:
    """Begin ``script`` (POSIX sh) in the job's folder, with ``files`` (text, mode) laid there first."""
    job.forget()
    for folder in (job.folder, job.secret, job.folder / "in", job.folder / "out"):
        folder.mkdir(mode=0o700, parents=True)
    for name, (text, mode) in files.items():
        _write(job.folder / name, text, mode)
    _write(job.folder / "script", _wrapped(job, script), 0o700)
    if Path("/run/systemd/system").is_dir():
        clean = f"ExecStopPost=-/bin/rm -rf {job.secret}"
        words = ["systemd-run", "--quiet", "--collect", f"--unit={job.unit}", f"--property={clean}"]
    else:
        words = ["setsid", "--fork"]
    begun = runner([*words, "/bin/sh", str(job.folder / "script")], timeout=_START)
    deadline = time.monotonic() + _START
    # Until the script has said who it is, nobody could tell a job that begins from one that has ended.
    while begun.ok and not read_text(job.folder / "pid").endswith("\n") and time.monotonic() < deadline:
        time.sleep(_LOOK / 10)
    return begun


def wait(
    job: Job,
    seconds: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Wait for the job, ``seconds`` at most; whether it has ended."""
    deadline = clock() + seconds
    while job.running():
        if clock() >= deadline:
            return False
        sleep(_LOOK)
    return True


def _wrapped(job: Job, script: str) -> str:
    folder = shlex.quote(str(job.folder))
    return (
        "#!/bin/sh\n"
        f"cd {folder} || exit 1\n"
        "exec >log 2>&1 </dev/null\n"
        "echo $$ >pid\n"
        f"( {script}\n)\n"
        "rc=$?\n"
        "rm -rf secret\n"
        "echo $rc >rc.part && mv rc.part rc\n"
        "exit $rc\n"
    )


def _write(path: Path, text: str, mode: int) -> None:
    """Write a file that nobody could read, not even for a moment, with another mode."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as file:
        file.write(text)
