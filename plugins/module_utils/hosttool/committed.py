# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What boots is what was committed: pointers and secrets that a restart or a hand has left otherwise are put back.

Private to the collection.
"""

from __future__ import annotations

from ..io.files import link_name, read_if_there, switch_link
from ..io.journals import read_journal
from ..release.files import RECORD_NAME
from ..release.history import good_releases
from ..release.journal import Entry, JournalError, open_run
from ..release.machine import is_bound_to_boot
from ..release.paths import Paths
from ..release.states import ROLLBACK, ROLLING_BACK, UNPROVEN
from . import rotating


def put_right(paths: Paths) -> str:
    """Before a start: put back what no run of this boot has changed; what was done, empty for nothing.

    A start that a run of this boot makes is its business. A journal that cannot be read changes nothing.
    """
    try:
        entries = read_journal(paths).entries
    except JournalError:
        return ""
    records = open_run(entries)
    if records and (read_if_there(paths.open_run) or "").strip() == records[0].run:
        return ""
    good = _good(paths, entries)
    if good is None:
        return ""
    done = _links(paths, good, records)
    if records and _unproven(records) and paths.back_secrets.exists():
        rotating.put_back(paths)
        done = [*done, "the secrets of before"]
    return f"put back before this start: {', '.join(done)}" if done else ""


def boots_what_was_committed(paths: Paths) -> bool:
    """Whether a start would start what was committed: a run that was cut off has put its pointers back.

    A rollback goes on instead: what it leads to was committed before, too.
    """
    try:
        records = open_run(read_journal(paths).entries)
    except JournalError:
        return False
    if not records:
        return True
    current, good = link_name(paths.current), link_name(paths.last_good)
    if records[0].kind == ROLLBACK:
        return current == records[0].release and records[-1].state in UNPROVEN
    return current is not None and current == good and not paths.back_secrets.exists()


def _good(paths: Paths, entries: tuple[Entry, ...]) -> str | None:
    """The last good release that is there: as the link says, else as the journal does."""
    linked = link_name(paths.last_good)
    names = [linked, *reversed(good_releases(entries))]
    return next((name for name in names if name and (paths.release(name) / RECORD_NAME).is_file()), None)


def _links(paths: Paths, good: str, records: tuple[Entry, ...]) -> list[str]:
    done = []
    if link_name(paths.last_good) != good:
        switch_link(paths.last_good, f"releases/{good}")
        done.append(f"last_good is {good}")
    current = link_name(paths.current)
    broken = current is None or not (paths.release(current) / RECORD_NAME).is_file()
    if current != good and (broken or _unproven(records) or not records):
        switch_link(paths.current, f"releases/{good}")
        done.append(f"current is {good}, not {current or 'nothing'}")
    return done


def _unproven(records: tuple[Entry, ...]) -> bool:
    """Whether the open run has left something that was not committed."""
    if not records or not is_bound_to_boot(records[0].kind):
        return False
    return records[-1].state in (*UNPROVEN, ROLLING_BACK)
