# SPDX-License-Identifier: Apache-2.0
"""Runs on a lab host: open a run as a module does, let systemd drive it, and wait; nobody follows it.

    moves.py '{"service": "chat", "kind": "change", "release": "rel-...", "cut": {...}}'
    moves.py '{"service": "chat"}'          # no new run: wait for the end of the last one

`secrets` are staged first, for a rotation. `driver`: `refused`, systemd starts none.

Prints a JSON object: `reached` (the run stands at its cut) or `ended` (the state in which it ended), with the records
of the run. What the cut is, says cut.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

TOOL = os.path.realpath("/usr/local/bin/vllm-host")
UTILS = "ansible_collections.gpuhosts.vllm.plugins.module_utils"
ASKED, REACHED = Path("/run/lab-cut.json"), Path("/run/lab-cut-reached")
LIMIT = 150.0


def module(name: str) -> Any:
    """A module of the collection, of the tool that is installed here."""
    return __import__(f"{UTILS}.{name}", fromlist=["x"])


def refuses(argv: list[str], **_more: Any) -> Any:
    """A systemd that starts nothing."""
    return module("io.commands").Result(tuple(argv), 1, "", "planted: no unit can be started")


def main(told: dict[str, Any]) -> dict[str, Any]:
    """Open the run that is asked for, and wait until it stands at its cut or has ended."""
    sys.path.insert(0, TOOL)
    paths = module("release.paths").Paths(told["service"])
    REACHED.unlink(missing_ok=True)
    ASKED.unlink(missing_ok=True)
    if told.get("cut"):
        ASKED.write_text(json.dumps(told["cut"]), encoding="utf-8")
    if told.get("secrets"):
        text = module("secrets_file").render_secrets(told["secrets"])
        module("io.files").write_atomic(paths.next_secrets, text, mode=0o600)
    if told.get("kind"):
        opening = module("hosttool.opening")
        opening.open_run(paths, opening.Request(told["kind"], told["release"], "a test", "faults"))
        runner = refuses if told.get("driver") == "refused" else opening.run
        with contextlib.suppress(opening.ToolError):
            opening.start_driver(paths, runner=runner)
    waits = told.get("cut", {}).get("at", {}).get("how") == "wait"
    until = time.monotonic() + LIMIT
    journal = module("release.journal")
    while time.monotonic() < until:
        if waits and REACHED.exists():
            return {"reached": True, "ended": None}
        entries = module("io.journals").read_journal(paths).entries
        if entries and not journal.open_run(entries):
            records = journal.last_run(entries)
            said = [[entry.state, entry.phase, entry.message] for entry in records]
            return {"reached": REACHED.exists(), "ended": journal.outcome(records), "records": said}
        time.sleep(0.1)
    return {"reached": REACHED.exists(), "ended": None, "late": True}


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
