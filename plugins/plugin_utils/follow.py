# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Follow work that goes on on a host by itself: ask again and again, and tell people how far it is.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Callable

from ansible.errors import AnsibleConnectionFailure

# A cut connection ends nothing on the host: it is worth some minutes of trying before the task gives up.
TRIES = 60
PAUSE = 5.0

RunModule = Callable[[dict[str, Any]], dict[str, Any]]


def follow(action: Any, run_module: RunModule, sleep: Callable[[float], None] = time.sleep) -> dict[str, Any]:
    """Call ``run_module`` with more arguments until it has finished or failed; print each new line once."""
    shown: set[str] = set()
    result = run_module({})
    _show(action, result, shown)
    while not result.get("failed") and result.get("finished") is False:
        result = _again(action, run_module, {"follow": result.get("follow")}, sleep)
        _show(action, result, shown)
    return result


def _again(
    action: Any, run_module: RunModule, arguments: dict[str, Any], sleep: Callable[[float], None]
) -> dict[str, Any]:
    for left in range(TRIES, 0, -1):
        try:
            return run_module(arguments)
        except AnsibleConnectionFailure as error:
            if left == 1:
                raise
            if left == TRIES:
                action._display.display(f"  the connection was cut, the work goes on on the host: {error}")
        sleep(PAUSE)
        # A shared ssh connection that died keeps failing until it is made anew.
        with contextlib.suppress(AnsibleConnectionFailure, AttributeError, NotImplementedError):
            action._connection.reset()
    raise AssertionError("unreachable")


def _show(action: Any, result: dict[str, Any], shown: set[str]) -> None:
    for line in result.get("progress") or ():
        if line not in shown:
            shown.add(line)
            action._display.display(f"  {line}")
