# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Run a command and say what came back. No shell, no decisions.

Private to the collection.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Callable

MISSING = 127
TIMED_OUT = 124


@dataclass(frozen=True)
class Result:
    """What a command left: its words, exit status (127: not installed, 124: timed out), and its decoded output."""

    argv: tuple[str, ...]
    rc: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Whether the command said that it succeeded."""
        return self.rc == 0


Runner = Callable[..., Result]


def run(
    argv: Sequence[str],
    *,
    timeout: float = 60.0,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> Result:
    """Run ``argv`` to its end, ``timeout`` seconds at most; ``env`` is added to the C locale environment."""
    words = tuple(argv)
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "LANGUAGE": "C", **(env or {})}
    try:
        done = subprocess.run(  # pylint: disable=ansible-bad-function
            words,
            input=stdin,
            env=environment,
            timeout=timeout,
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return Result(words, TIMED_OUT, "", f"{words[0]} did not end within {timeout:g} s")
    except OSError as error:
        return Result(words, MISSING, "", f"{words[0]}: {error.strerror}")
    return Result(words, done.returncode, done.stdout, done.stderr)
