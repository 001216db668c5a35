# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of a release against its version, before it replaces another one.

Only a change is stopped by them. What a rollback goes to and what a rotation restarts has run here before; and what is
wrong with the release that runs now is no reason to keep it.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..audit.errors import AuditError
from ..audit.judge import audit_config
from ..audit.of_release import subject_of_release
from ..findings import ERROR, INFO, WARNING, Finding, failing
from ..io.way_back import whole_record
from ..release.record import ReleaseRecord
from ..release.states import CHANGE
from .steps import Context
from .waived import waived


def audit_change(context: Context, record: ReleaseRecord) -> Iterator[Finding]:
    """What is wrong with the new arguments, and with the old ones."""
    before = whole_record(context.paths, context.told("previous"))
    changes = context.opening.kind == CHANGE
    found = list(_audit(record, before if changes else None))
    yield from found if changes else _softened(waived(context, found))
    if before is not None and before.id != record.id:
        known = {(each.id, each.subject) for each in found}
        old = [each for each in _audit(before, None) if (each.id, each.subject) not in known]
        yield from (
            replace(each, message=f"of {before.id}, which runs now: {each.message}")
            for each in _softened(waived(context, failing(old)))
        )


def _audit(record: ReleaseRecord, before: ReleaseRecord | None) -> Iterable[Finding]:
    old_words = before.content["args"] if before is not None else None
    subject = subject_of_release(record.service, record.content, record.host.secret_names, old_words)
    previous = str(before.content["version"]) if before is not None else None
    version = str(record.content["version"])
    try:
        found = audit_config(subject, version, previous if previous != version else None).findings
    except AuditError as error:
        return [Finding("audit_impossible", WARNING, record.service, f"the arguments could not be audited: {error}")]
    return [each for each in found if each.severity != INFO]


def _softened(found: Iterable[Finding]) -> Iterator[Finding]:
    for each in found:
        yield replace(each, severity=WARNING) if each.severity == ERROR and not each.waived_until else each
