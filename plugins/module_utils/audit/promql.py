# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which metrics of vLLM a PromQL expression names, without judging the expression.

Only names are read: strings, comments, label matchers, functions and Grafana's variables are stepped over.

Private to the collection.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

MAX_EXPRESSION = 100_000
_MAX_NAMES = 64
_MAX_GROUPS = 4
_PREFIX = "vllm:"
_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
    |(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)
    |(?P<variable>\$\{[^}]*\}|\$\w+|\[\[\w+(?::\w+)?\]\](?!\]))
    |(?P<name>[A-Za-z_:][\w:]*)(?P<made>\$\{|\$\w|\[\[(?!\[)|\.)?
    |(?P<matches>=~|!~|!=|=)
    |(?P<open>\{)|(?P<close>\})""",
    re.VERBOSE | re.DOTALL,
)
_BRACES = {"open": 1, "close": -1}
_PLAIN_PATTERN = re.compile(r"[\w:|()?]*")


@dataclass(frozen=True)
class Named:
    """One name at its place: ``start`` and ``end`` are those of the text that a proposal replaces."""

    name: str
    start: int
    end: int


def metric_names(expression: str) -> tuple[Named, ...]:
    """The names that begin with ``vllm:``, in their order."""
    return tuple(found for found in _names(expression[:MAX_EXPRESSION]) if _is_vllm(found.name))


def replaced(expression: str, names: Mapping[str, str]) -> str:
    """The expression with metric names replaced, everything else left as it is."""
    text, done = [], 0
    for found in metric_names(expression):
        if found.name in names and found.start >= done and expression[found.start : found.end] == found.name:
            text += [expression[done : found.start], names[found.name]]
            done = found.end
    return "".join([*text, expression[done:]])


def _is_vllm(name: str) -> bool:
    # Another colon is a recording rule's: vLLM's own names have one.
    return name.startswith(_PREFIX) and len(name) > len(_PREFIX) and ":" not in name[len(_PREFIX) :]


def _names(text: str) -> Iterator[Named]:
    depth, label, operator, variable_end = 0, "", "", -1
    for token in _TOKEN.finditer(text):
        kind = "name" if token.lastgroup == "made" else token.lastgroup or ""
        if kind in _BRACES:
            depth, label = max(0, depth + _BRACES[kind]), ""
        elif kind == "name":
            label, operator = token["name"], ""
            if _stands_alone(token, depth, variable_end):
                yield Named(token["name"], token.start("name"), token.end("name"))
        elif kind == "matches":
            operator = token[0]
        elif kind == "variable":
            variable_end = token.end()
        elif kind == "string" and depth:
            yield from _matched(token, label, operator)
            label, operator = "", ""


def _stands_alone(token: re.Match[str], depth: int, variable_end: int) -> bool:
    """Whether a word is a whole name outside of braces, not one that a variable completes."""
    return depth == 0 and not token["made"] and token.start() != variable_end


def _matched(token: re.Match[str], label: str, operator: str) -> Iterator[Named]:
    """What a matcher of a series' name asks for: ``__name__="…"``, ``__name__=~"a|b"``, and ``{"…"}``."""
    text, start = token[0][1:-1], token.start() + 1
    if operator == "" or (label == "__name__" and operator == "="):
        yield Named(text, start, start + len(text))
    elif label == "__name__" and operator == "=~":
        yield from (Named(name, start, start + len(text)) for name in _alternatives(text))


def _alternatives(pattern: str) -> tuple[str, ...]:
    """The names that a pattern of words, groups and bars matches; none where it is more than that."""
    pattern = pattern.replace("(?:", "(").strip("^$")
    if not _PLAIN_PATTERN.fullmatch(pattern) or "?" in pattern or pattern.count("(") > _MAX_GROUPS:
        return ()
    names, _end = _read_choice(pattern, 0)
    return tuple(names)


def _read_choice(pattern: str, at: int) -> tuple[list[str], int]:
    done: list[str] = []
    current = [""]
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "(":
            inner, at = _read_choice(pattern, at + 1)
            pairs = itertools.product(current, inner)
            current = [left + right for left, right in itertools.islice(pairs, _MAX_NAMES)]
        elif pattern[at] == "|":
            done, current = done + current, [""]
        else:
            current = [left + pattern[at] for left in current]
        at += 1
    return (done + current)[:_MAX_NAMES], at
