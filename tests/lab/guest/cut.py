# SPDX-License-Identifier: Apache-2.0
"""Runs on a lab host, inside the driver of a run: lets steps fail, and cuts the driver at a record of its journal.

A `.pth` file lets every Python import it; it does something in `vllm-host run` only, and only while the file ASKED
is there, a JSON object of

- `fail`, `instead`: states whose step fails once it is done, or instead of it;
- `at`: the record (`state`, `phase`) `side` of whose write (`before`, `after`) the driver is cut; `how`: `kill` ends
  it with SIGKILL, `wait` lets it stand still, for whoever cuts the power then. It is cut once;
- `clock`: `from` a state on the wall clock is wrong `by` so many seconds.

The driver is the real one in all else.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

ASKED = Path("/run/lab-cut.json")
REACHED = Path("/run/lab-cut-reached")
DRIVER = "ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.driver"
STANDS = 300.0


def cut(asked: dict[str, Any]) -> None:
    """Be cut here."""
    how = asked.pop("at")["how"]
    ASKED.write_text(json.dumps(asked), encoding="utf-8")
    REACHED.touch()
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(STANDS)
    os._exit(3)


def cutting(append: Any, asked: dict[str, Any]) -> Any:
    """The write of a record, cut before or after it."""

    def is_it(entry: Any, side: str) -> bool:
        at = asked.get("at")
        return at is not None and [at["state"], at["phase"], at["side"]] == [entry.state, entry.phase, side]

    def write(paths: Any, entry: Any) -> None:
        if is_it(entry, "before"):
            cut(asked)
        append(paths, entry)
        if is_it(entry, "after"):
            cut(asked)

    return write


def failing(driver: Any, state: str, *, instead: bool) -> Any:
    """A step that fails, and has done what it does unless it fails instead."""
    action = driver.ACTIONS[state]

    def step(context: Any) -> Any:
        done = None if instead else action(context)
        raise driver.StepFailed(f"planted at {state}", dict(done.data) if done else {})

    return step


def stepping(driver: Any, state: str, by: float) -> Any:
    """A step in which the wall clock is set to another time."""
    action, now = driver.ACTIONS[state], driver.Clock.now

    def step(context: Any) -> Any:
        driver.Clock.now = lambda clock: (datetime.fromisoformat(now(clock)) + timedelta(seconds=by)).isoformat()
        return action(context)

    return step


def patch(driver: Any, asked: dict[str, Any]) -> None:
    """Put the faults between the driver and its journal and steps."""
    driver.append_entry = cutting(driver.append_entry, asked)
    steps = {
        state: failing(driver, state, instead=key == "instead") for key in ("fail", "instead") for state in asked[key]
    }
    if "clock" in asked:
        state = asked["clock"]["from"]
        steps[state] = stepping(driver, state, asked["clock"]["by"])
    driver.ACTIONS = {**driver.ACTIONS, **steps}


def main() -> None:
    """Patch the driver that is about to run in this process, if it is one."""
    words = getattr(sys, "orig_argv", [])[1:]
    if len(words) < 2 or words[1] != "run" or not words[0].endswith(".pyz") or not ASKED.exists():
        return
    program = os.path.realpath(words[0])
    sys.path.insert(0, program)
    driver = __import__(DRIVER, fromlist=["Driver"])
    sys.path.remove(program)
    patch(driver, json.loads(ASKED.read_text(encoding="utf-8")))


main()
