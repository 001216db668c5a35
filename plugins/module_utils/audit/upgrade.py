# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What must be rewritten for the way back: options and variables of the new config that the old version lacks.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..config import history
from ..config.command_line import AMBIGUOUS
from ..findings import INFO, Finding
from ..versions import Version
from .case import Case, Rule

_SOURCE = "vllm/engine/arg_utils.py and vllm/envs.py of the releases"
_SERVE_IS_ENTRYPOINT = Version(0, 11, 1)


def _lacks(known: history.History | None, case: Case) -> bool:
    """Whether the new version has it and the one that ran before does not."""
    if known is None or case.previous is None:
        return False
    return known.present(case.version) and not known.present(case.previous)


def way_back(case: Case) -> Iterator[Finding]:
    """Each option and variable that a return to the version before has to leave out."""
    if case.previous is None or case.previous > case.version:
        return
    names = [each.name for each in case.line.given if each.how != AMBIGUOUS] if case.line else []
    for name in dict.fromkeys(names):
        if _lacks(history.flag(name), case):
            yield _finding(case, name, f"{name}: the engine of {case.previous} ends with status 2")
    for name in sorted(case.subject.env or {}):
        if _lacks(history.variable(name), case):
            yield _finding(case, name, f"{name}: {case.previous} does not read it")
    if case.line and case.line.model_is_positional and case.previous < _SERVE_IS_ENTRYPOINT <= case.version:
        yield _finding(case, "positional model", "the image before 0.11.1 starts api_server, which wants --model")


def _finding(case: Case, part: str, message: str) -> Finding:
    return Finding(
        "way_back_rewrite",
        INFO,
        case.about(part),
        f"for the way back to {case.previous}: {message}",
        observed=part,
        remedy=f"keep the config that ran with {case.previous}; its release brings it back",
        source=_SOURCE,
    )


RULES = (Rule("way_back_rewrite", INFO, _SOURCE, way_back),)
