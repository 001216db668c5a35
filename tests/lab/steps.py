# SPDX-License-Identifier: Apache-2.0
"""How the lab talks: one line a step, with its seconds, and one sentence when something cannot be done."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEGAN = time.monotonic()
_PRINTING = threading.Lock()


class LabError(Exception):
    """Something cannot be done. The text is one sentence and ends with the next command."""


def say(text: str) -> None:
    """Print a line with the seconds since the command began."""
    with _PRINTING:
        sys.stdout.write(f"[{time.monotonic() - _BEGAN:6.1f} s] {text}\n")
        sys.stdout.flush()


@contextmanager
def step(text: str) -> Iterator[None]:
    """Announce a step that takes a while, and say how long it took."""
    say(f"{text} ...")
    began = time.monotonic()
    yield
    say(f"{text}: done in {time.monotonic() - began:.1f} s")
