# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A release that a host has as what is audited, and what an upgrade to another one changes.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..findings import ERROR, Finding
from .errors import AuditError
from .judge import audit_config
from .reading.service import subject_of_content
from .subject import Subject


def subject_of_release(
    name: str,
    content: Mapping[str, Any],
    secret_names: Iterable[str] = (),
    previous_words: Iterable[str] | None = None,
) -> Subject:
    """The content of a release; of secrets it has the names only.

    That it may listen without a key was decided when the inventory was judged, and is no finding here.
    """
    subject = subject_of_content(name, content, secret_names, previous_words)
    return replace(subject, exposed_without_key=not subject.has_key)


def upgrade_findings(name: str, running: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Finding]:
    """Between two release contents: what is wrong in the new version, and what only the change between both makes so.

    Of what runs only ``version`` and ``args`` are needed. Nothing where the vLLM version stays: the differences of the
    contents then say all.
    """
    before, after = str(running["version"]), str(wanted["version"])
    if before == after:
        return []
    subject = subject_of_release(name, wanted, previous_words=running["args"])
    try:
        alone = {(each.id, each.subject) for each in audit_config(subject, after).findings}
        found = audit_config(subject, after, before).findings
    except AuditError:
        return []
    return [each for each in found if each.severity == ERROR or (each.id, each.subject) not in alone]
