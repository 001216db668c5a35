# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Follow work that goes on on a host by itself: ask again and again, and tell people how far it is.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Callable

from ansible.errors import AnsibleConnectionFailure
from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.rights import as_root

# A cut connection ends nothing on the host: it is worth some minutes of trying before the task gives up. The variable
# `vllm_patience` has the seconds.
PATIENCE = 300.0
PAUSE = 5.0
TRIES = int(PATIENCE / PAUSE)
# How much longer than it was told to wait a module may take to answer. ssh waits for hours for a host that is gone,
# unless somebody has set ServerAliveInterval; asking again costs nothing.
ANSWER = 45.0
WAIT = 15.0

RunModule = Callable[[dict[str, Any]], dict[str, Any]]


def what_to_follow(result: Mapping[str, Any]) -> dict[str, Any]:
    """What the next call is told, after a result."""
    return {"follow": result.get("follow")}


@dataclass(frozen=True)
class Manner:
    """How often a cut connection is tried again; what is put before each line: whose it is, among several hosts; and
    what each next call is told after a result."""

    tries: int = TRIES
    whose: str = ""
    again: Callable[[Mapping[str, Any]], dict[str, Any]] = what_to_follow


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """AnsibleConnectionFailure where a host does not answer in time. A task's own `timeout` goes first."""
    if signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise AnsibleConnectionFailure(f"no answer within {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def follow(
    action: Any,
    run_module: RunModule,
    sleep: Callable[[float], None] = time.sleep,
    answer: float = WAIT + ANSWER,
    manner: Manner = Manner(),
) -> dict[str, Any]:
    """Call ``run_module`` with more arguments until it has finished, failed, or waits for a word of the controller.

    Each new line is printed once.
    """

    def run_in_time(arguments: dict[str, Any]) -> dict[str, Any]:
        with limited(answer):
            return run_module(arguments)

    shown: set[str] = set()
    try:
        result = run_module({})
    except AnsibleConnectionFailure as error:
        message = f"{error}. What had begun on the host goes on there. Next: run the same again"
        raise AnsibleConnectionFailure(message) from None
    _show(action, result, shown, manner.whose)
    while not result.get("failed") and result.get("finished") is False and not result.get("awaits_confirm"):
        result = _again(action, run_in_time, manner.again(result), sleep, manner.tries)
        _show(action, result, shown, manner.whose)
    return result


def _again(
    action: Any, run_module: RunModule, arguments: dict[str, Any], sleep: Callable[[float], None], tries: int
) -> dict[str, Any]:
    for left in range(tries, 0, -1):
        try:
            return run_module(arguments)
        except AnsibleConnectionFailure as error:
            if left == 1:
                message = f"{error}. The work goes on on the host. Next: run the same again, it follows to the end"
                raise AnsibleConnectionFailure(message) from None
            if left == tries:
                action._display.display(f"  the connection was cut, the work goes on on the host: {error}")
        sleep(PAUSE)
        # A shared ssh connection that died keeps failing until it is made anew.
        with contextlib.suppress(AnsibleConnectionFailure, AttributeError, NotImplementedError):
            action._connection.reset()
    raise AssertionError("unreachable")


def _show(action: Any, result: dict[str, Any], shown: set[str], whose: str) -> None:
    for line in result.get("progress") or ():
        if line not in shown:
            shown.add(line)
            action._display.display(f"  {whose}{line}")


def whose(variables: Mapping[str, Any]) -> str:
    """The host's name where the play changes several at once: their lines come mixed."""
    several = len(variables.get("ansible_play_batch") or ()) > 1
    return f"{variables['inventory_hostname']}: " if several else ""


class FollowAction(ActionBase):  # type: ignore[misc]
    """An action that calls the module of its own name until its work on the host has ended."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_diff = True

    def arguments(self, more: dict[str, Any]) -> dict[str, Any]:
        """Give the module's arguments for one call; ``more`` says what to go on following."""
        return {**self._task.args, **more}

    def again(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the next call is told, after a result."""
        return what_to_follow(result)

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the action."""
        result: dict[str, Any] = super().run(tmp, task_vars)

        def run_module(more: dict[str, Any]) -> dict[str, Any]:
            arguments = self.arguments(more)

            def once() -> dict[str, Any]:
                return dict(
                    self._execute_module(module_name=self._task.action, module_args=arguments, task_vars=task_vars)
                )

            return as_root(task_vars, once)

        answer = ANSWER + float(self._task.args.get("wait") or WAIT)
        tries = max(1, int(float((task_vars or {}).get("vllm_patience", PATIENCE)) / PAUSE))
        manner = Manner(tries, whose(task_vars or {}), self.again)
        result.update(follow(self, run_module, answer=answer, manner=manner))
        return result
