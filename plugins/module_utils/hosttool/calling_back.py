# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Tell a run that is under way to go back: a human who wants the last good release does not wait for its end.

Private to the collection.
"""

from __future__ import annotations

from ..io import systemd
from ..io.commands import Runner, run
from ..io.files import read_if_there, write_atomic
from ..io.journals import read_journal
from ..release.journal import open_run
from ..release.paths import Paths
from ..release.states import STARTING

_CANCEL = 60.0


def call_back(paths: Paths, by: str, why: str, *, runner: Runner = run) -> None:
    """Leave the word where the driver looks for it, and cancel a start that is under way."""
    reason = f": {why}" if why else ""
    write_atomic(paths.called_back, f"called back by {by or 'unknown'}{reason}\n")
    records = open_run(read_journal(paths).entries)
    if records and records[-1].state == STARTING:
        systemd.stop(paths.unit, timeout=_CANCEL, runner=runner)


def who_called_back(paths: Paths) -> str | None:
    """Who wants the open run to go back and why, in one sentence; None when nobody does."""
    text = read_if_there(paths.called_back)
    return None if text is None else text.strip()
