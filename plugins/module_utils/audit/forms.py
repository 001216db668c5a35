# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Values of options that have no form that vLLM can read: JSON that is broken, numbers that are none.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ..config import history
from ..config.command_line import AMBIGUOUS, Given, read_integer
from ..config.options import JSON, JSON_LIST, VALUE, option
from ..findings import ERROR, Finding
from .case import Case, Rule

BROKEN, NO_NUMBER = "option_json_broken", "option_not_a_number"
_SOURCE = "vllm/engine/arg_utils.py of the releases: json.loads, int, float, human_readable_int"
# Other JSON options take words too (a path, a device), so only what begins like JSON is judged there.
_ONLY_JSON = frozenset(
    ("--speculative-config", "--kv-transfer-config", "--override-generation-config", "--rope-scaling")
)
# Numbers whose default is decided at the start.
_NUMBERS = frozenset(
    (
        "--max-model-len",
        "--max-num-seqs",
        "--max-num-batched-tokens",
        "--num-gpu-blocks-override",
        "--data-parallel-rank",
        "--data-parallel-size-local",
        "--data-parallel-rpc-port",
        "--kv-cache-memory-bytes",
        "--num-speculative-tokens",
        "--spec-tokens",
    )
)
# What another program fills in before vLLM sees it.
_FILLED_IN = re.compile(r"\$[\w{(]|\{\{|\{%|%[a-zA-Z]\b|<[\w -]+>")
_WORDS = frozenset(("auto", "none", ""))


def _each(case: Case) -> Iterator[Given]:
    """Each option with one value that this release has, and that is what vLLM will see."""
    for given in case.line.given if case.line else ():
        known = history.flag(given.name)
        if given.how == AMBIGUOUS or given.path or given.negated or known is None or not known.present(case.version):
            continue
        if len(given.values) == 1 and not _FILLED_IN.search(given.values[0]):
            yield given


def broken_json(case: Case) -> Iterator[Finding]:
    """JSON that a shell or an editor took the quotes of."""
    for given in _each(case):
        text = given.values[0].strip()
        kind = option(given.name[2:], case.version).kind
        begins = kind in {JSON, JSON_LIST} and text[:1] in {"{", "["}
        if not begins and not (kind == JSON and given.name in _ONLY_JSON):
            continue
        why = _why_broken(text)
        if why:
            yield Finding(
                BROKEN,
                ERROR,
                case.about(given.written),
                f"{given.written} wants JSON, and its value is none ({why}); the engine ends before it loads anything",
                expected="JSON, with double quotes around names and texts",
                remedy="write the value as JSON, and in a shell within single quotes",
                source=_SOURCE,
            )


def _why_broken(text: str) -> str | None:
    """What is wrong and where, never the value itself: it may hold a secret."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"{error.msg} at character {error.pos + 1}"
    except (ValueError, RecursionError):
        return "it is nested too deeply"
    return None


def no_number(case: Case) -> Iterator[Finding]:
    """A word where a number is wanted."""
    for given in _each(case):
        text = given.values[0].strip()
        if _wants_number(given.name, case) and text.lower() not in _WORDS and not _is_number(text):
            yield Finding(
                NO_NUMBER,
                ERROR,
                case.about(given.written),
                f"{given.written} wants a number, and {text[:40]!r} is none; the engine ends with status 2",
                expected="a number",
                observed=text[:40],
                remedy="write a number",
                source=_SOURCE,
            )


def _wants_number(name: str, case: Case) -> bool:
    if name in _NUMBERS:
        return True
    known = history.flag(name)
    default = known.default(case.version) if known else None
    return bool(
        default
        and not default.dynamic
        and isinstance(default.value, (int, float))
        and not isinstance(default.value, bool)
        and option(name[2:], case.version).kind == VALUE
    )


def _is_number(text: str) -> bool:
    if read_integer(text) is not None:
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


RULES = (
    Rule(BROKEN, ERROR, _SOURCE, broken_json),
    Rule(NO_NUMBER, ERROR, _SOURCE, no_number),
)
