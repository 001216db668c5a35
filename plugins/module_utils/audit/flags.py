# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Options that the version does not have: removed, not there yet, unknown, ambiguous, deprecated, abbreviated.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..config import history
from ..config.command_line import AMBIGUOUS, PREFIX, Given
from ..findings import ERROR, INFO, WARNING, Finding
from .case import Case, Rule
from .hiding import hidden_value

_SOURCE = "vllm/engine/arg_utils.py and vllm/entrypoints/openai/cli_args.py of the releases"
_ENDS = "the engine ends with status 2 before it loads anything, and a restart policy starts it again and again"


def _each(case: Case) -> Iterator[Given]:
    """Each option once, however often it is given."""
    seen: dict[str, Given] = {}
    for given in case.line.given if case.line else ():
        seen.setdefault(given.written if given.how == AMBIGUOUS else given.name, given)
    yield from seen.values()


def _absent(case: Case) -> Iterator[tuple[Given, history.History | None]]:
    for given in _each(case):
        known = history.flag(given.name)
        if given.how != AMBIGUOUS and not (known and known.present(case.version)):
            yield given, known


def removed(case: Case) -> Iterator[Finding]:
    """Options that an earlier release had."""
    for given, known in _absent(case):
        since = known.removed_since(case.version) if known else None
        if known is None or since is None:
            continue
        instead = known.replacement_for(_shown(given), case.version)
        why = f" ({known.note})" if known.note else ""
        way = f"write {instead} in its place" if instead else f"take it out{why}"
        yield Finding(
            "FLAG_REMOVED",
            ERROR,
            case.about(given.name),
            f"{given.name} is gone since vLLM {since}: {_happens(given)}",
            expected=f"an option of vLLM {case.version}",
            observed=given.written,
            remedy=way,
            source=known.source or _SOURCE,
            since=str(since),
            replacement=instead,
        )


def _shown(given: Given) -> str | None:
    """The value as it may stand in what is proposed."""
    return hidden_value(given.name, " ".join(given.values)) or None


def _happens(given: Given) -> str:
    """argparse takes a name that it does not have for the one option that begins so."""
    if given.taken_for:
        return f"the parser takes it for {given.taken_for}, which begins with the same letters and means another thing"
    return _ENDS


def not_yet(case: Case) -> Iterator[Finding]:
    """Options that come in a later release."""
    for given, known in _absent(case):
        since = known.appears_in(case.version) if known else None
        if known is None or since is None or known.removed_since(case.version):
            continue
        yield Finding(
            "FLAG_NOT_YET",
            ERROR,
            case.about(given.name),
            f"{given.name} comes with vLLM {since}, vLLM {case.version} does not have it: {_happens(given)}",
            expected=f"an option of vLLM {case.version}",
            observed=given.written,
            remedy=f"take it out, or run vLLM {since} or newer",
            source=known.source or _SOURCE,
            since=str(since),
        )


def unknown(case: Case) -> Iterator[Finding]:
    """Options that no release has."""
    guessed: set[str] = set()
    for given, known in _absent(case):
        if known is not None:
            continue
        guessed.add(given.name)
        near = history.nearest_flag(given.name) if len(guessed) <= history.MOST_GUESSES else None
        yield Finding(
            "FLAG_UNKNOWN",
            ERROR,
            case.about(given.name),
            f"no release of vLLM that was read has {given.name}: {_ENDS}",
            expected=near or f"an option of vLLM {case.version}",
            observed=given.written,
            remedy=f"is {near} meant?" if near else "take it out",
            source=_SOURCE,
            replacement=near,
        )


def ambiguous(case: Case) -> Iterator[Finding]:
    """The beginning of more than one option."""
    for given in _each(case):
        if given.how == AMBIGUOUS:
            yield Finding(
                "FLAG_AMBIGUOUS",
                ERROR,
                case.about(given.written),
                f"{given.written} is the beginning of more than one option: {_ENDS}",
                expected=" or ".join(given.candidates),
                observed=given.written,
                remedy="write the whole name",
                source="argparse, allow_abbrev; vllm/utils/argparse_utils.py",
            )


def abbreviated(case: Case) -> Iterator[Finding]:
    """A name that works only while no other option begins so."""
    for given in _each(case):
        if given.how == PREFIX:
            yield Finding(
                "flag_abbreviated",
                INFO,
                case.about(given.written),
                f"{given.written} works only as the beginning of {given.name}; a release with another option that "
                "begins so refuses it",
                expected=given.name,
                observed=given.written,
                remedy=f"write {given.name}",
                source="argparse, allow_abbrev; vllm/utils/argparse_utils.py",
                replacement=given.name,
            )


def deprecated(case: Case) -> Iterator[Finding]:
    """Options that still work and that a release has announced to take away."""
    for given in _each(case):
        known = history.flag(given.name)
        if known is None or given.how == AMBIGUOUS or not known.present(case.version):
            continue
        told = known.deprecation(case.version)
        if told is None:
            continue
        when = f", and its removal is announced for {told.removal}" if told.removal else ""
        note = f" ({told.note})" if told.note else ""
        instead = told.replacement or known.replacement_for(_shown(given), case.version)
        yield Finding(
            "FLAG_DEPRECATED",
            WARNING,
            case.about(given.name),
            f"{given.name} is still read by vLLM {case.version} but deprecated since {told.since}{when}{note}",
            observed=given.written,
            remedy=f"write {instead} in its place" if instead else "take it out before the upgrade that removes it",
            source=known.source or _SOURCE,
            since=str(told.since),
            replacement=instead,
        )


def faults(case: Case) -> Iterator[Finding]:
    """What the parser refuses besides names."""
    for fault in case.line.faults if case.line else ():
        yield Finding(
            "argument_fault",
            ERROR,
            case.about(fault.written),
            f"{fault.written}: {fault.message}; {_ENDS}",
            remedy="write it as the option takes it: vllm serve --help=all",
            source=_SOURCE,
        )


RULES = (
    Rule("FLAG_REMOVED", ERROR, _SOURCE, removed),
    Rule("FLAG_NOT_YET", ERROR, _SOURCE, not_yet),
    Rule("FLAG_UNKNOWN", ERROR, _SOURCE, unknown),
    Rule("FLAG_AMBIGUOUS", ERROR, _SOURCE, ambiguous),
    Rule("FLAG_DEPRECATED", WARNING, _SOURCE, deprecated),
    Rule("flag_abbreviated", INFO, _SOURCE, abbreviated),
    Rule("argument_fault", ERROR, _SOURCE, faults),
)
