# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Part of ``preflighted``: what can say no before a running engine is stopped for another one.

Everything that is wrong is said at once. Nothing here needs a network.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from ..findings import WARNING, Finding, failing, one_line
from ..io.docker import root_folder
from ..io.journals import read_journal
from ..io.system import disk_of
from ..io.way_back import missing_of, whole_record
from ..release.change_rules import (
    no_target,
    no_way_back,
    room_is_needed,
    room_problems,
    way_back_problems,
)
from ..release.history import committed_releases
from ..release.record import ReleaseRecord
from ..release.states import REPLACING_KINDS, ROLLBACK
from .change_audit import audit_change
from .change_gpus import judge_host_gpus
from .steps import Context, StepFailed
from .waived import waived

_SAID = 8


def check_change(context: Context, record: ReleaseRecord) -> list[dict[str, Any]]:
    """StepFailed with all that is wrong; what is only worth a word is said, and given back as findings."""
    if context.opening.kind not in REPLACING_KINDS:
        return []
    problems: list[str] = []
    notes: list[Finding] = []
    for texts, are_errors in (_target(context), _way_back(context), _room(context)):
        problems += texts if are_errors else []
        notes += [] if are_errors else [_note(record, text) for text in texts]
    found = waived(context, [*judge_host_gpus(context, record), *audit_change(context, record)])
    errors = failing(found)
    problems += [f"{each.message}; {each.remedy}" if each.remedy else each.message for each in errors]
    if problems:
        raise StepFailed("; ".join(problems), {"problems": problems, "findings": [each.to_dict() for each in errors]})
    notes += [each for each in found if each.severity == WARNING and not each.waived_until]
    for note in notes[:_SAID]:
        context.say(one_line(note))
    return [note.to_dict() for note in notes]


def has_way_back(context: Context) -> bool:
    """Whether the run goes back by itself when it fails; one that was proven, unless somebody did without."""
    return context.opening.kind != ROLLBACK and not context.told("accept_no_rollback")


def _target(context: Context) -> tuple[list[str], bool]:
    """A rollback may lead to a release that nobody has looked at for long."""
    missing = missing_of(context.paths, context.release, runner=context.runner)
    content = _content(context, context.release)
    return ([no_target(context.opening.kind, context.release, missing, content)] if missing else []), True


def _way_back(context: Context) -> tuple[list[str], bool]:
    """A rollback is never rolled back, so it needs none."""
    if context.opening.kind == ROLLBACK:
        return [], True
    name = context.told("way_back")
    missing = missing_of(context.paths, name, runner=context.runner) if name else ()
    problems = way_back_problems(name, missing, committed_releases(read_journal(context.paths).entries))
    if problems and context.told("accept_no_rollback"):
        return [f"there is no way back, which was accepted: {'; '.join(problems)}"], False
    return ([no_way_back(context.paths.service, problems, _content(context, name))] if problems else []), True


def _room(context: Context) -> tuple[list[str], bool]:
    places = {str(context.paths.state), root_folder(runner=context.runner)}
    disks = {disk.device: disk for disk in map(disk_of, sorted(places))}
    free = {disk.path: disk.free_bytes for disk in disks.values()}
    return room_problems(free), room_is_needed(context.opening.kind)


def _content(context: Context, name: str | None) -> dict[str, Any] | None:
    record = whole_record(context.paths, name)
    return dict(record.content) if record is not None else None


def _note(record: ReleaseRecord, text: str) -> Finding:
    return Finding("change_risk", WARNING, record.service, text)
