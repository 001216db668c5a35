# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The expressions of a Grafana dashboard, each with the panel, variable or annotation that it stands in.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .subject import GRAFANA_DASHBOARD, Expression, Problem, Subject

_MAX_PANELS = 10_000
_MAX_DEPTH = 8


def is_dashboard(given: object) -> bool:
    """Whether a parsed document is a dashboard, bare or as the ``dashboard`` of an export by the HTTP interface."""
    board = _board(given)
    return board is not None and (isinstance(board.get("panels"), list) or isinstance(board.get("rows"), list))


def read_dashboard(given: Mapping[str, Any], name: str) -> Subject:
    """All queries of a dashboard as a subject."""
    board = _board(given) or {}
    expressions = [*_of_panels(board), *_of_variables(board), *_of_annotations(board)]
    problems = () if is_dashboard(given) else (Problem("panels", "has no panels", "panels: a list"),)
    return Subject(kind=GRAFANA_DASHBOARD, name=name, expressions=tuple(expressions), problems=problems)


def _board(given: object) -> Mapping[str, Any] | None:
    inner = given.get("dashboard") if isinstance(given, Mapping) else None
    board = inner if isinstance(inner, Mapping) else given
    return board if isinstance(board, Mapping) else None


def _items(holder: object, key: str) -> Iterator[Mapping[str, Any]]:
    found = holder.get(key) if isinstance(holder, Mapping) else None
    for item in found if isinstance(found, list) else ():
        if isinstance(item, Mapping):
            yield item


def _panels(holder: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    if depth > _MAX_DEPTH:
        return
    for key in ("panels", "rows"):
        for panel in _items(holder, key):
            yield panel
            yield from _panels(panel, depth + 1)


def _of_panels(board: object) -> Iterator[Expression]:
    for number, panel in enumerate(_panels(board), start=1):
        if number > _MAX_PANELS:
            return
        where = f"panel {panel.get('id', number)} {panel.get('title') or ''}".strip()
        for target in _items(panel, "targets"):
            query = target.get("refId")
            yield from _text(f"{where} query {query}" if isinstance(query, str) else where, target.get("expr"))


def _of_variables(board: Mapping[str, Any]) -> Iterator[Expression]:
    for variable in _items(board.get("templating"), "list"):
        query = variable.get("query")
        inner = query.get("query") if isinstance(query, Mapping) else query
        where = f"variable {variable.get('name') or ''}".strip()
        shown = inner if isinstance(inner, str) and inner else variable.get("definition")
        if variable.get("type") in (None, "query"):
            yield from _text(where, shown)


def _of_annotations(board: Mapping[str, Any]) -> Iterator[Expression]:
    for annotation in _items(board.get("annotations"), "list"):
        where = f"annotation {annotation.get('name') or ''}".strip()
        inner = annotation.get("target")
        yield from _text(where, annotation.get("expr") or (inner.get("expr") if isinstance(inner, Mapping) else None))


def _text(where: str, text: object) -> Iterator[Expression]:
    if isinstance(text, str) and text.strip():
        yield Expression(where, text)
