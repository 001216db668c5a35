# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How requests are kept away from a server that is about to stop: what an adapter does.

An adapter for a load balancer takes the server out of it in ``begin``, counts in ``busy`` what still runs, and puts it
back in ``undo``. Every call may come twice: a driver that was killed does its step again.

Private to the collection.
"""

from __future__ import annotations

from typing import Protocol

from ..steps import Context


class Drain(Protocol):
    """One way to drain a server; an exception of ``begin`` or ``busy`` fails the step, and nothing is stopped."""

    def begin(self, context: Context) -> None:
        """Let no new request come; returns when that holds."""

    def busy(self, context: Context) -> int | None:
        """How many requests run or wait; None when nobody answers, so that there is nothing to wait for."""

    def undo(self, context: Context) -> None:
        """Let requests come again, also when ``begin`` did not get to its end; never fails for what is undone."""
