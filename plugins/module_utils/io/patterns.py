# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Look for a user's pattern in a text, with an end: a pattern can need longer than the host lives.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from ..patterns import bounded_pattern

SECONDS = 1.0


class _TooLongError(Exception):
    """The time is over."""


def fault_of(pattern: str, text: str, seconds: float = SECONDS) -> str | None:
    """None when the pattern is found in the text, else what is wrong, to be said behind the pattern."""
    try:
        compiled = bounded_pattern(pattern)
    except ValueError as error:  # the Python of the controller may take what this one does not
        return f"cannot be used on this host: expected {error}"
    try:
        with _limited(seconds):
            return None if compiled.search(text) else "is not found in the answer"
    except _TooLongError:
        return f"was looked for longer than {seconds:g} s; write a simpler one"


@contextlib.contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Only the main thread gets signals; the tool and the modules have no other."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
