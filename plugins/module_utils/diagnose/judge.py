# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge what was read of a service, section by section in the order in which one debugs.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from . import configuration, drift, machine, options, start, topology, versions
from .case import Case
from .model import Diagnosis, Section

ORDER: dict[str, Any] = {
    "start": start,
    "versions": versions,
    "configuration": configuration,
    "options": options,
    "topology": topology,
    "machine": machine,
    "drift": drift,
}


def diagnose(case: Case) -> Diagnosis:
    """All sections; what could not be read and belongs to none of them is told with the first."""
    first, *others = [_section(name, part, case) for name, part in ORDER.items()]
    known = {source for part in ORDER.values() for source in part.SOURCES}
    more = {source: why for source, why in case.unread.items() if source not in known}
    whole = Section(first.id, first.title, first.facts, first.findings, {**(first.unread or {}), **more})
    return Diagnosis(case.service, case.host, case.at, (whole, *others))


def _section(name: str, part: Any, case: Case) -> Section:
    """One section; where a file holds what nobody expects, that is told, and the other sections are judged."""
    try:
        section: Section = part.section(case)
    except Exception as error:  # a report is worth more than a section
        return Section(name, name, unread={"what was read": f"is not of the kind that was expected ({error})"})
    return section
