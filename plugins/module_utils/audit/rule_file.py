# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The expressions of a Prometheus rule file, each with the group and the rule that it stands in.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .subject import PROMETHEUS_RULES, Expression, Problem, Subject

_MAX_RULES = 10_000


def is_rule_file(given: object) -> bool:
    """Whether a parsed document is a rule file, bare or as the ``spec`` of a PrometheusRule."""
    groups = _groups(given)
    return groups is not None and all(isinstance(group, Mapping) and "rules" in group for group in groups)


def read_rule_file(given: Mapping[str, Any], name: str) -> Subject:
    """All rules of a parsed file as a subject; what is no rule is a problem."""
    expressions, problems, recorded = [], [], []
    for where, rule in _rules(given):
        text = rule.get("expr") if isinstance(rule, Mapping) else None
        if not isinstance(text, (str, int, float)) or isinstance(text, bool):
            problems.append(Problem(where, "has no expression", "expr: a PromQL expression"))
            continue
        expressions.append(Expression(where, str(text)))
        if isinstance(rule.get("record"), str):
            recorded.append(rule["record"])
    if not expressions and not problems:
        problems.append(Problem("groups", "has no rules", "groups: a list of {name, rules}"))
    return Subject(
        kind=PROMETHEUS_RULES,
        name=name,
        expressions=tuple(expressions),
        recorded=tuple(recorded),
        problems=tuple(problems),
    )


def _groups(given: object) -> list[Any] | None:
    if not isinstance(given, Mapping):
        return None
    spec = given.get("spec")
    inner = spec if isinstance(spec, Mapping) and "groups" in spec else given
    groups = inner.get("groups")
    return groups if isinstance(groups, list) else None


def _rules(given: object) -> Iterator[tuple[str, Any]]:
    count = 0
    for number, group in enumerate(_groups(given) or (), start=1):
        rules = group.get("rules") if isinstance(group, Mapping) else None
        title = str(group.get("name") or number) if isinstance(group, Mapping) else str(number)
        for place, rule in enumerate(rules if isinstance(rules, list) else (), start=1):
            count += 1
            if count > _MAX_RULES:
                return
            yield f"group {title} {_title(rule, place)}", rule


def _title(rule: object, place: int) -> str:
    for key in ("alert", "record"):
        if isinstance(rule, Mapping) and rule.get(key):
            return f"{key} {rule[key]}"
    return f"rule {place}"
