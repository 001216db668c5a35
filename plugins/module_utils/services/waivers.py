# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm_waivers``: findings of the audit that somebody answers for, with a reason and until a day.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..findings import INFO, WARNING, Finding
from .problems import Complaints, Problem, kind_of

WAIVERS = "vllm_waivers"
KEYS = ("id", "service", "reason", "owner", "until", "subject")
_NEEDED = KEYS[:5]
_DAY = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])")
_REMEDY = "correct vllm_waivers in the inventory; docs/runbooks/audit.md says how a waiver is written"


@dataclass(frozen=True)
class Waiver:
    """One entry; ``subject`` narrows it to findings whose subject contains that text."""

    id: str
    service: str
    reason: str
    owner: str
    until: str
    subject: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether it speaks of this finding of its service."""
        return finding.id.lower() == self.id.lower() and self.subject in finding.subject


def read_waivers(given: object) -> tuple[list[Waiver], list[Problem]]:
    """The waivers that are right, and what is wrong with the others."""
    complaints = Complaints(WAIVERS)
    if given is None:
        return [], []
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        complaints.say("(the whole)", f"a {kind_of(given)}", f"a list of maps with {', '.join(_NEEDED)}")
        return [], complaints.found
    read = [_read(f"[{index}]", entry, complaints) for index, entry in enumerate(given)]
    return [waiver for waiver in read if waiver is not None], complaints.found


def _read(where: str, entry: object, complaints: Complaints) -> Waiver | None:
    before = len(complaints.found)
    if not isinstance(entry, Mapping):
        complaints.say(where, f"a {kind_of(entry)}", f"a map with {', '.join(_NEEDED)}")
        return None
    values = {str(key): _text(value) for key, value in entry.items()}
    for key in values:
        if key not in KEYS:
            complaints.unknown(f"{where}.{key[:40]}", KEYS)
    for key in _NEEDED:
        if not values.get(key):
            complaints.say(f"{where}.{key}", "missing or empty", _MEANING[key])
    until = values.get("until") or ""
    if until and not _DAY.fullmatch(until):
        complaints.at(f"{where}.until", until, _MEANING["until"])
    if len(complaints.found) > before:
        return None
    return Waiver(**{key: str(values[key]) for key in _NEEDED}, subject=values.get("subject") or "")


_MEANING = {
    "id": "the id of a finding, such as FLAG_REMOVED",
    "service": "the name of a service",
    "reason": "why the finding does not hold here, in words",
    "owner": "who answers for it",
    "until": "a day, such as 2031-05-31",
}


def _text(value: object) -> str | None:
    """YAML makes a date of an unquoted day; anything that is no text then is not taken for one."""
    written = getattr(value, "isoformat", None)
    if callable(written):
        return str(written())
    return str(value).strip() if isinstance(value, str) else None


def apply_waivers(
    service: str, findings: Iterable[Finding], waivers: Iterable[Waiver], today: str
) -> tuple[list[Finding], list[Finding]]:
    """The findings, with ``waived_until`` where a waiver holds; and what is to be said of the waivers themselves."""
    own = [waiver for waiver in waivers if waiver.service == service]
    found = list(findings)
    good = [waiver for waiver in own if waiver.until >= today]
    judged = [replace(finding, waived_until=_until(finding, good)) for finding in found]
    return judged, [note for waiver in own for note in _notes(waiver, found, today)]


def _until(finding: Finding, waivers: Sequence[Waiver]) -> str | None:
    return max((waiver.until for waiver in waivers if waiver.covers(finding)), default=None)


def _notes(waiver: Waiver, findings: Sequence[Finding], today: str) -> Iterator[Finding]:
    about = f"{waiver.service} waiver of {waiver.id}"
    if waiver.until < today:
        text = f"the waiver of {waiver.owner} ended on {waiver.until} and counts no more"
        remedy = "do what the finding says, or look at it again and set a later day"
        yield Finding("waiver_expired", WARNING, about, text, observed=waiver.until, remedy=remedy)
    elif not any(waiver.covers(finding) for finding in findings):
        text = "no finding of this service is what this waiver is for"
        yield Finding("waiver_unmatched", WARNING, about, text, remedy="take it out of vllm_waivers")


def unknown_services(waivers: Iterable[Waiver], services: Iterable[str]) -> list[Finding]:
    """Waivers of services that this host does not have: right where the list is for several hosts."""
    known = set(services)
    text = "this host has no service of that name"
    return [
        Finding("waiver_unmatched", INFO, f"{waiver.service} waiver of {waiver.id}", text, remedy=_REMEDY)
        for waiver in waivers
        if waiver.service not in known
    ]


def for_host(service: str, waivers: Iterable[Waiver]) -> list[dict[str, Any]]:
    """The waivers of a service as its host needs them, which looks once more before a running engine is replaced."""
    return [
        {"id": waiver.id.upper(), "subject": waiver.subject, "until": waiver.until}
        for waiver in waivers
        if waiver.service == service
    ]
