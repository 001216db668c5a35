# SPDX-License-Identifier: Apache-2.0
"""Run a program of this machine for the lab."""

from __future__ import annotations

import os
import shutil
import subprocess

from .steps import LabError


def as_root(command: list[str]) -> list[str]:
    """The command as root, through sudo where we are not root."""
    return command if os.geteuid() == 0 else ["sudo", "-n", *command]


def run(command: list[str], *, env: dict[str, str] | None = None, what: str) -> str:
    """Run a command to its end and return its output; fail with the last lines that it said."""
    if shutil.which(command[0]) is None:
        message = f"{what}: {command[0]} is not installed; run: python3 tests/lab/prerequisites.py --install"
        raise LabError(message)
    done = subprocess.run(
        command,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = " | ".join(done.stdout.strip().splitlines()[-5:])
        message = f"{what} failed (exit {done.returncode}): {' '.join(command[:6])} said: {tail or 'nothing'}"
        raise LabError(message)
    return done.stdout
