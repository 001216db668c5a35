# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The audit of the inventory's services: what is an error stops like any other problem, the rest is a note.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..audit.image_check import CODES
from ..audit.judge import audit_config
from ..audit.platform import DRIVER, GPU
from ..findings import Finding, failing
from .model import Service
from .problems import NEXT, Problem, nearest
from .schema import ABSENT
from .waivers import Waiver, apply_waivers, unknown_services

DOOR = f"{NEXT}; what does not hold for your image can be waived: docs/runbooks/audit.md"
# What is found where driver, GPU and image are.
HOST_CODES = (*CODES, DRIVER, GPU)
_KEYS = {"/dev/shm": "shm_size"}


@dataclass(frozen=True)
class Audited:
    """The findings of all services, waived or not, and those of them that stop, as problems."""

    findings: list[Finding] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def audit_services(services: Sequence[Service], waivers: Sequence[Waiver], today: str) -> Audited:
    """Audit each service that is to be there; a service that is to be removed needs to be right for nothing."""
    found: list[Finding] = []
    problems: list[Problem] = []
    for service in (each for each in services if each.state != ABSENT):
        report = audit_config(service, str(service.version), name=service.name)
        mine = [waiver for waiver in waivers if waiver.id.upper() not in HOST_CODES]  # those are for the host to find
        judged, notes = apply_waivers(service.name, report.findings, mine, today)
        problems += [_problem(service, finding) for finding in failing(judged)]
        found += [*judged, *notes]
    return Audited([*found, *unknown_services(waivers, [service.name for service in services])], problems)


def _problem(service: Service, finding: Finding) -> Problem:
    key = _key(service, finding)
    allowed = finding.remedy or str(finding.expected or "what this release takes")
    return Problem(service.name, key, f"{finding.message} ({finding.id})", allowed, next=DOOR)


def _key(service: Service, finding: Finding) -> str:
    """The key of the definition that the finding is about: an option, a variable, or what the finding calls it."""
    part = finding.subject[len(service.name) :].strip() if finding.subject.startswith(service.name) else finding.subject
    if part.startswith("--"):
        return f"config.{_given(service.config, part[2:])}"
    if part in _KEYS:
        return _KEYS[part]
    return f"env.{part}" if part in service.env else part or "(the whole)"


def _given(config: Mapping[str, object], name: str) -> str:
    """The key as it is given: the audit may name an option by its long name where it was given by another."""
    return name if name in config else nearest(name, list(config)) or name
