# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The same service written for another release, as a proposal: only what is certain is rewritten, the rest is open.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..config import history
from ..config.command_line import AMBIGUOUS, CommandLine, Given
from ..versions import Version
from .case import Case
from .hiding import hidden_value, hide
from .rewrites import DROPPED, FIXED, RENAMED, TASKS, VARIABLES
from .subject import SERVE, SERVICE

_MODEL = "--model"
_SERVE_IS_ENTRYPOINT = Version(0, 11, 1)


@dataclass
class _Draft:
    words: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    changes: list[dict[str, str]] = field(default_factory=list)
    left_open: list[str] = field(default_factory=list)

    def change(self, before: str, after: str, why: str) -> None:
        """Say one rewrite."""
        self.changes.append({"from": before, "to": after, "why": why})


def propose(case: Case) -> dict[str, Any]:
    """The proposal; ``words`` and ``config`` are None where the subject has no command line."""
    draft = _Draft()
    line = case.line
    if line is not None:
        _model(draft, line, case)
        for given in line.given:
            if given.name != _MODEL:
                _option(draft, given, case.version)
    for name, value in sorted((case.subject.env or {}).items()):
        _variable(draft, name, value, case)
    return {
        "words": None if line is None else hide(draft.words),
        "env": {name: hidden_value(name, value) for name, value in draft.env.items()},
        "config": _as_map(hide(draft.words)) if case.subject.kind == SERVICE and line is not None else None,
        "changes": draft.changes,
        "open": draft.left_open,
    }


def _model(draft: _Draft, line: CommandLine, case: Case) -> None:
    """The model first: by itself, or as an option where the words go to an image that runs api_server."""
    if line.model is None:
        return
    as_option = not line.model_is_positional
    if case.subject.kind != SERVE and case.previous is not None:
        was, is_now = case.previous >= _SERVE_IS_ENTRYPOINT, case.version >= _SERVE_IS_ENTRYPOINT
        if was != is_now and as_option == is_now:
            as_option = not is_now
            option, alone = f"{_MODEL} {line.model}", line.model
            before, after = (option, alone) if is_now else (alone, option)
            draft.change(
                before,
                after,
                f"the image of vLLM {case.version} runs {'vllm serve' if is_now else 'the api_server module'}",
            )
    draft.words += [_MODEL, line.model] if as_option else [line.model]


def _has(name: str, version: Version) -> bool:
    known = history.flag(name.partition(".")[0])
    return known is not None and known.present(version)


def _as_given(given: Given) -> list[str]:
    if len(given.values) == 1 and given.values[0].startswith("-"):
        return [f"{given.written}={given.values[0]}"]
    return [given.written, *given.values]


def _option(draft: _Draft, given: Given, version: Version) -> None:
    known = history.flag(given.name)
    if given.how == AMBIGUOUS or known is None or _stays(given.name, known, version):
        draft.words += _as_given(given)
        return
    new = None if given.negated else _rewritten(given, version)
    if new is None:
        draft.words += _as_given(given)
        gone = known.removed_since(version) is not None
        hint = known.replacement_for(" ".join(given.values) or None, version) if gone else None
        draft.left_open.append(
            f"{given.name}: not in vLLM {version}; " + (f"perhaps {hint}" if hint else "take it out")
        )
        return
    draft.words += new
    why = DROPPED.get(given.name) or f"vLLM {version} has it under this name"
    draft.change(given.name, " ".join(new), why)


def _stays(name: str, known: history.History, version: Version) -> bool:
    """Whether the release has it, and nothing certain to write in its place before it goes."""
    return known.present(version) and not (
        name in RENAMED and known.deprecation(version) and _has(RENAMED[name], version)
    )


def _rewritten(given: Given, version: Version) -> list[str] | None:
    """The words in its place; None where nothing is certain, or where this release has not got them either."""
    if given.name in DROPPED:
        return []
    new: Sequence[str] = ()
    if given.name in RENAMED and given.values:
        new = (".".join((RENAMED[given.name], *given.path)), *given.values)
    elif given.name == "--task":
        new = TASKS.get("".join(given.values), ())
    elif given.name == "--cuda-graph-sizes" and len(given.values) > 1:
        new = ("--cudagraph-capture-sizes", *given.values)
    elif not given.values:
        new = FIXED.get(given.name, ())
    return list(new) if new and all(_has(word, version) for word in new if word.startswith("--")) else None


def _variable(draft: _Draft, name: str, value: str, case: Case) -> None:
    known = history.variable(name)
    if known is None or known.removed_since(case.version) is None:
        draft.env[name] = value
        return
    option = VARIABLES.get(name)
    if option and _has(option, case.version) and case.line is not None:
        if not case.line.has(option.partition(".")[0]):
            draft.words += [option, value]
        draft.change(name, option, f"vLLM {case.version} reads the option, not the variable")
        return
    draft.change(name, "", f"vLLM {case.version} does not read it")
    hint = known.replacement_for(value, case.version)
    if hint:
        draft.left_open.append(f"{name}: perhaps {hint}")


def _as_map(words: Sequence[str]) -> dict[str, Any]:
    """The words as the ``config`` of a service definition: values as YAML would read them."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            head, joined, value = word[2:].partition("=")
            name = head
            found.setdefault(name, []).extend([value] if joined else [])
        elif name:
            found[name].append(word)
    return {key: _plain(values) for key, values in found.items()}


def _plain(values: Sequence[str]) -> Any:
    plain = [_value(value) for value in values]
    return True if not plain else plain[0] if len(plain) == 1 else plain


def _value(word: str) -> Any:
    try:
        return json.loads(word)
    except ValueError:
        return word
