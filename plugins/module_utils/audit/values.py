# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Values that the version does not take: removed ones, and ones that no release has.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..config import history
from ..config.command_line import AMBIGUOUS, CommandLine
from ..config.releases import RELEASES
from ..findings import ERROR, Finding
from ..versions import Version
from .case import Case, Rule

_SOURCE = "the literals of vllm/config and vllm/engine/arg_utils.py of the releases"

# Options whose values plugins and registries add to, or that take more than their literal names.
_OPEN = frozenset(
    (
        "--quantization",
        "--load-format",
        "--attention-backend",
        "--mm-encoder-attn-backend",
        "--distributed-executor-backend",
        "--tokenizer-mode",
        "--reasoning-parser",
        "--spec-method",
        "--speculative-model-quantization",
        "--mamba-backend",
        "--log-level",
        "--uvicorn-log-level",
        "--max-lora-rank",
        "--optimization-level",
        "--model-impl",
        "--device",
        "--config-format",
    )
)
# A value below a JSON option is that of the option of its own.
_INSIDE = {
    ("--speculative-config", "method"): "--spec-method",
    ("--speculative-config", "quantization"): "--quantization",
    ("--attention-config", "backend"): "--attention-backend",
}
# Until 0.14.1 a variable named the backend; what the variable alone could name is no literal of the option.
_BACKEND = "VLLM_ATTENTION_BACKEND"
_GONE = {("--attention-backend", "XFORMERS"): Version(0, 12)}


class Said(NamedTuple):
    """One value: the option whose values are asked for, how it was written, the value."""

    option: str
    written: str
    value: str


def _said(case: Case) -> Iterator[Said]:
    named, backend = history.variable(_BACKEND), (case.subject.env or {}).get(_BACKEND, "")
    if backend and named is not None and named.present(case.version):
        yield Said("--attention-backend", _BACKEND, backend)
    yield from _on_line(case.line)


def _on_line(line: CommandLine | None) -> Iterator[Said]:
    if line is None:
        return
    for given in line.given:
        if given.how != AMBIGUOUS and not given.path and not given.negated:
            yield from (Said(given.name, given.name, value) for value in given.values)
    for (option, key), own in _INSIDE.items():
        inside = line.mapping(option)
        value = inside.get(key) if isinstance(inside, Mapping) else None
        if isinstance(value, str):
            yield Said(own, f"{option}.{key}", value)


def _facts(case: Case) -> Iterator[tuple[Said, history.History]]:
    for said in dict.fromkeys(_said(case)):
        known = history.flag(said.option)
        if known is not None and (known.present(case.version) or said.option != said.written):
            yield said, known


def _spellings(value: str) -> tuple[str, ...]:
    """Names of attention backends are read in either case."""
    return tuple(dict.fromkeys((value, value.upper(), value.lower())))


def _removed_in(known: history.History, said: Said, case: Case) -> str | None:
    choices = known.choices(case.version) or ()
    if any(each in choices for each in _spellings(said.value)):
        return None
    for each in _spellings(said.value):
        since = _GONE.get((said.option, each)) or known.choice_removed(each, case.version)
        if since is not None and since <= case.version:
            return str(since)
    return None


def removed(case: Case) -> Iterator[Finding]:
    """Values that an earlier release took."""
    for said, known in _facts(case):
        since = _removed_in(known, said, case)
        if since is not None:
            yield Finding(
                "VALUE_REMOVED",
                ERROR,
                case.about(said.written),
                f"{said.written} {said.value}: vLLM has no {said.value} since {since}; the engine does not start",
                expected=", ".join(known.choices(case.version) or ()) or None,
                observed=said.value,
                remedy="choose a value that this release takes, or stay on a release before "
                f"{since}; a plugin may bring it back",
                source=known.source or _SOURCE,
                since=since,
            )


def unknown(case: Case) -> Iterator[Finding]:
    """Values that the parser refuses: only of options whose values are a closed list."""
    for said, known in _facts(case):
        choices = known.choices(case.version)
        if said.option in _OPEN or not choices or said.value in choices or _removed_in(known, said, case):
            continue
        later = _appears(known, said.value, case)
        yield Finding(
            "VALUE_UNKNOWN",
            ERROR,
            case.about(said.written),
            f"{said.written} does not take {said.value!r} in vLLM {case.version}{later}; "
            "the engine ends with status 2 before it loads anything",
            expected=", ".join(choices),
            observed=said.value,
            remedy=f"choose one of: {', '.join(choices)}",
            source=known.source or _SOURCE,
        )


def _appears(known: history.History, value: str, case: Case) -> str:
    later = (each for each in RELEASES if each > case.version and value in (known.choices(each) or ()))
    first = next(later, None)
    return f" (it comes with {first})" if first else ""


RULES = (
    Rule("VALUE_REMOVED", ERROR, _SOURCE, removed),
    Rule("VALUE_UNKNOWN", ERROR, _SOURCE, unknown),
)
