# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The waivers of the inventory, which come with the gate of a release, on what this host finds.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..findings import Finding
from ..io.releases import read_gate
from .steps import Context


def waived(context: Context, found: Iterable[Finding]) -> list[Finding]:
    """The findings with what is waived marked; a waiver that has expired by this host's clock counts no more."""
    today = context.clock.now()[:10]
    waivers = [
        each
        for each in read_gate(context.paths, context.release).waivers
        if isinstance(each, dict) and str(each.get("until")) >= today
    ]
    return [replace(each, waived_until=_until(each, waivers)) for each in found]


def _until(finding: Finding, waivers: Iterable[Mapping[str, object]]) -> str | None:
    return next((str(each["until"]) for each in waivers if _covers(each, finding)), None)


def _covers(waiver: Mapping[str, object], finding: Finding) -> bool:
    return str(waiver.get("id")).lower() == finding.id.lower() and str(waiver.get("subject") or "") in finding.subject
