# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge what was read of a service, section by section in the order in which one debugs.

Private to the collection.
"""

from __future__ import annotations

from . import configuration, drift, machine, options, start, topology, versions
from .case import Case
from .model import Diagnosis, Section

ORDER = (start, versions, configuration, options, topology, machine, drift)


def diagnose(case: Case) -> Diagnosis:
    """All sections; what could not be read and belongs to none of them is told with the first."""
    first, *others = [part.section(case) for part in ORDER]
    known = {source for part in ORDER for source in part.SOURCES}
    more = {source: why for source, why in case.unread.items() if source not in known}
    whole = Section(first.id, first.title, first.facts, first.findings, {**(first.unread or {}), **more})
    return Diagnosis(case.service, case.host, case.at, (whole, *others))
