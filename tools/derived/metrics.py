# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The metrics of a release under their exported names: what is given to a gauge, counter or histogram.

Names that a release puts together when it runs (of third-party offloading managers) are not found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .archive import Archive

_TYPES = ("gauge", "counter", "histogram")
_NAME = re.compile(r"vllm:\w+")
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def read(source: Archive) -> dict[str, dict[str, Any]]:
    """A counter's series ends in ``_total``, whatever its name in the source."""
    constants = {name: text for module in source.metrics.values() for name, text in _constants(module)}
    found: dict[str, dict[str, Any]] = {}
    for path, module in sorted(source.metrics.items()):
        for name, kind in _Module(module, {**constants, **dict(_constants(module))}).made():
            exported = name if kind != "counter" or name.endswith("_total") else f"{name}_total"
            found[exported] = {"type": kind, "source": path}
    return found


def _constants(module: ast.Module) -> Iterator[tuple[str, str]]:
    """``NAME = "vllm:x"`` of a module, ``Class.NAME`` of a class."""
    for node in module.body:
        body, prefix = (node.body, f"{node.name}.") if isinstance(node, ast.ClassDef) else ([node], "")
        for line in body:
            if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name):
                text = _text(line.value)
                if text:
                    yield prefix + line.targets[0].id, text


def _text(node: ast.AST | None) -> str | None:
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and _NAME.fullmatch(value) else None


def _kind(call: ast.expr | None) -> str | None:
    """The type of metric that a call makes; a method that only finds one has another name."""
    if not isinstance(call, ast.Call):
        return None
    words = ast.unparse(call.func).lower()
    return next((kind for kind in _TYPES if kind in words), None)


class _Module:
    def __init__(self, module: ast.Module, constants: dict[str, str]) -> None:
        self.module, self.constants = module, constants

    def made(self) -> Iterator[tuple[str, str]]:
        """Names and types, from calls, from tables of definitions, and from functions that loop over names."""
        for node in ast.walk(self.module):
            if isinstance(node, ast.Dict):
                yield from self._pairs(zip(node.keys, node.values))
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
                yield from self._pairs([(node.targets[0].slice, node.value)])
            elif isinstance(node, ast.Call):
                yield from self._call(node)
            elif isinstance(node, Function):
                yield from self._loop(node)

    def _pairs(self, pairs: Any) -> Iterator[tuple[str, str]]:
        for key, value in pairs:
            name, kind = self._resolved(key), _kind(value)
            if name and kind:
                yield name, kind

    def _call(self, call: ast.Call) -> Iterator[tuple[str, str]]:
        kind = _kind(call)
        for name in map(self._resolved, self._named(call)):
            if kind and name:
                yield name, kind

    def _loop(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[str, str]]:
        """A variable is given as the name: it holds the names of this function that no call was given itself."""
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _kind(node)]
        given = {self._resolved(item) for call in calls for item in self._named(call)}
        kinds = {_kind(call) for call in calls if self._is_variable(call)}
        if len(kinds) == 1:
            kind = str(kinds.pop())
            yield from ((text, kind) for text in map(_text, ast.walk(function)) if text and text not in given)

    def _is_variable(self, call: ast.Call) -> bool:
        return any(
            key.arg == "name" and isinstance(key.value, ast.Name) and not self._resolved(key.value)
            for key in call.keywords
        )

    @staticmethod
    def _named(call: ast.Call) -> list[ast.expr]:
        return [key.value for key in call.keywords if key.arg in {"name", "metric_name"}] + call.args[:2]

    def _resolved(self, node: ast.expr | None) -> str | None:
        if isinstance(node, (ast.Name, ast.Attribute)):
            return self.constants.get(ast.unparse(node))
        return _text(node)
