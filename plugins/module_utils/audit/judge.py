# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Audit one subject against the vLLM release that will run it: the one function that every face calls.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Callable

from ..config.command_line import CommandLine
from ..config.line_reader import read_command_line
from ..config.releases import NEWEST, RELEASES, is_newer, nearest
from ..findings import ERROR, WARNING, Finding, worst_first
from ..services.model import Service
from ..versions import Version, parse_version, version_of_tag
from . import (
    defaults,
    entrypoint,
    exposure,
    flags,
    forms,
    log_regex,
    metrics,
    platform,
    shm,
    stopping,
    upgrade,
    values,
    variables,
)
from .case import Case, Rule
from .errors import AuditError
from .faults import all as faults
from .migration import propose
from .read import read_subjects, subject_of_service
from .report import AuditReport
from .rules import all as rules
from .subject import Subject

RULES: tuple[Rule, ...] = (
    *flags.RULES,
    *values.RULES,
    *forms.RULES,
    *variables.RULES,
    *defaults.RULES,
    *upgrade.RULES,
    *metrics.RULES,
    *log_regex.RULES,
    *exposure.RULES,
    *platform.RULES,
    *shm.RULES,
    *stopping.RULES,
    *entrypoint.RULES,
    *rules.RULES,
    *faults.RULES,
)
_MAY_BE_NEW = frozenset({"FLAG_UNKNOWN", "FLAG_NOT_YET", "VALUE_UNKNOWN"})


def audit_config(
    subject: object,
    version: str | None,
    previous_version: str | None = None,
    *,
    name: str | None = None,
    kind: str | None = None,
) -> AuditReport:
    """Audit a service definition, a map or a text; AuditError for what cannot be audited at all.

    ``version`` may be None only where the image's tag says it.
    """
    target = _version(version, "version") if version is not None else None
    previous = _version(previous_version, "previous version") if previous_version is not None else None
    targets, read = _targets(target, lambda known: _subjects(subject, nearest(known), name, kind))
    cases = [_case(each, for_it, previous) for each, for_it in zip(read, targets)]
    found = [finding for case, for_it in zip(cases, targets) for finding in _audit(case, for_it, previous)]
    return AuditReport(
        tuple(worst_first(_once(found))),
        ", ".join(each.name for each in read),
        read[0].kind,
        _said(targets),
        _said([case.version for case in cases]),
        str(previous) if previous else None,
        _proposal(cases) if previous else None,
    )


def _targets(
    target: Version | None, read: Callable[[Version], tuple[Subject, ...]]
) -> tuple[list[Version], tuple[Subject, ...]]:
    """The release of each subject, and the subjects as it reads them: the one that is given, or that of its image."""
    if target is not None:
        found = read(target)
        return [target] * len(found), found
    targets = [_of_image(each) for each in read(NEWEST)]
    each_read = {version: read(version) for version in targets}
    return targets, tuple(each_read[version][place] for place, version in enumerate(targets))


def _said(versions: Sequence[Version]) -> str:
    return ", ".join(dict.fromkeys(str(version) for version in versions))


def _audit(case: Case, target: Version, previous: Version | None) -> Iterator[Finding]:
    yield from _problems(case)
    yield from _not_read(case, target, previous)
    yield from _run(case, target)


def _proposal(cases: Sequence[Case]) -> dict[str, Any]:
    """That of the one subject; of several, each under its name, and what is done and left open in all of them."""
    if len(cases) == 1:
        return propose(cases[0])
    each = {case.subject.name: propose(case) for case in cases}
    return {
        "services": each,
        "changes": [{"service": name, **change} for name, found in each.items() for change in found["changes"]],
        "open": [f"{name}: {text}" for name, found in each.items() for text in found["open"]],
    }


def _version(text: object, what: str) -> Version:
    try:
        return parse_version(str(text))
    except ValueError as error:
        raise AuditError(f"{what} {text!r} is no vLLM release; expected one such as {NEWEST}") from error


def _subjects(given: object, version: Version, name: str | None, kind: str | None) -> tuple[Subject, ...]:
    if isinstance(given, Subject):
        return (given,)
    if isinstance(given, Service):
        return (subject_of_service(given),)
    return read_subjects(given, version, name, kind)


def _of_image(subject: Subject) -> Version:
    image = (subject.container.image if subject.container else None) or ""
    _name, _colon, tag = image.partition("@")[0].rpartition("/")[2].rpartition(":")
    version = version_of_tag(tag)
    if version is None:
        said = f"the image {image!r} does not say one" if image else "the subject names no image"
        raise AuditError(f"no version is given and {said}; expected a vLLM release such as {NEWEST}")
    return version


def _case(subject: Subject, target: Version, previous: Version | None) -> Case:
    version = nearest(target)
    before = nearest(previous) if previous else None
    old_words = subject.words if subject.previous_words is None else subject.previous_words
    return Case(subject, version, _line(subject.words, version), before, _line(old_words, before) if before else None)


def _line(words: tuple[str, ...] | None, version: Version) -> CommandLine | None:
    return None if words is None else read_command_line(words, version)


def _run(case: Case, target: Version) -> Iterator[Finding]:
    """Every rule; what the tables do not know of a release newer than they are is no error."""
    newer = is_newer(target)
    for rule in RULES:
        for finding in rule.check(case):
            yield replace(finding, severity=WARNING) if newer and finding.id in _MAY_BE_NEW else finding


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """One finding of one thing, although two rules or two words of the subject lead to it."""
    seen = set()
    for finding in findings:
        key = (finding.id, finding.subject, str(finding.observed))
        if key not in seen:
            seen.add(key)
            yield finding


def _problems(case: Case) -> Iterator[Finding]:
    """What could not be read is said, so that silence does not mean that all was looked at."""
    for problem in case.subject.problems:
        yield Finding(
            "subject_unreadable",
            ERROR,
            case.about(problem.where),
            problem.message,
            expected=problem.expected,
            remedy="write it in the form that is expected, then audit again",
            source="the reader of the subject",
        )


def _not_read(case: Case, target: Version, previous: Version | None) -> Iterator[Finding]:
    for version in filter(None, (target, previous)):
        if is_newer(version) or version < RELEASES[0]:
            yield Finding(
                "version_not_read",
                WARNING,
                case.about(f"vLLM {version}"),
                f"the tables know the releases {RELEASES[0]} to {NEWEST}; {version} is audited as {nearest(version)}, "
                "so what it alone has or lacks is not seen",
                expected=f"{RELEASES[0]} to {NEWEST}",
                observed=str(version),
                remedy="update the collection, or check the options with vllm serve --help=all of the image",
                source="the tables of this collection",
            )
