# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``draining``: let the requests end that are under way, as long as the cap allows.

Private to the collection.
"""

from __future__ import annotations

from ..calling_back import who_called_back
from ..steps import Context, Outcome, StepFailed
from ..stop_engine import gate_of_current
from .interface import Drain
from .none import NoDrain

_ASK_EVERY = 1.0
_SAY_EVERY = 15.0

ADAPTER: Drain = NoDrain()


def drain(context: Context, adapter: Drain = ADAPTER) -> Outcome:
    """Wait until no request is under way; a drain that fails is undone. Nothing is cut off here."""
    try:
        adapter.begin(context)
        return _wait(context, adapter)
    except BaseException:
        adapter.undo(context)
        raise


def _wait(context: Context, adapter: Drain) -> Outcome:
    cap = gate_of_current(context.paths).drain_cap_seconds
    began = said = context.clock.monotonic()
    while (busy := adapter.busy(context)) and context.clock.monotonic() - began < cap:
        called = who_called_back(context.paths)
        if called is not None:
            raise StepFailed(called)
        if context.clock.monotonic() - said >= _SAY_EVERY:
            said = context.clock.monotonic()
            context.say(f"draining: {_count(busy)} still under way after {said - began:.0f} s of {cap:.0f} s")
        context.clock.sleep(_ASK_EVERY)
    waited = round(context.clock.monotonic() - began, 1)
    if busy:
        return Outcome(f"{_count(busy)} still under way after the cap of {cap:.0f} s", {"waited": waited, "cut": busy})
    return Outcome(
        "no request is under way" if busy == 0 else "nothing answers, so nothing is under way", {"waited": waited}
    )


def _count(busy: int) -> str:
    return f"{busy} request is" if busy == 1 else f"{busy} requests are"
