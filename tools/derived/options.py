# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The options of a release: kind, other names, default and choices, as its parser is made."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

from .archive import Archive
from .kinds import ENGINE, FRONTEND, SERVE, Types, class_variables, options
from .values import constant

_FUNCTIONS = {"add_cli_args", "make_arg_parser", "subparser_init"}
_KNOWN: dict[str, Any] = {"list()": [], "dict()": {}, "int(ssl.CERT_NONE)": 0}  # values of the standard library
_DEPRECATED = re.compile(r"deprecated(?!.*not deprecated)|will be removed in", re.IGNORECASE | re.DOTALL)
_SPEAK_OF_IT = {"allow-deprecated-quantization", "show-hidden-metrics-for-version"}  # the deprecation of other things
_NONE: dict[str, Any] = {"default": None, "choices": None}


def read(source: Archive) -> dict[str, dict[str, Any]]:
    """Every option by its name without dashes."""
    types = Types({**source.types, **source.parser})
    reader = _Reader(types)
    details: dict[str, dict[str, Any]] = {}
    for path, module in source.parser.items():
        if path.endswith((ENGINE, FRONTEND, SERVE)):
            details.update(reader.calls(module))
        if path.endswith(FRONTEND):
            details.update(reader.fields(module))
    found = {}
    for name, (kind, also) in options(source.parser).items():
        found[name] = {"kind": kind, "also": sorted(also), **details.get(name, _NONE)}
    return found


def deprecated(source: Archive) -> set[str]:
    """Options whose own text says that they are deprecated: a hint for the review, since texts say it in many ways."""
    types = Types({**source.types, **source.parser})
    found: set[str] = set()
    for module in source.parser.values():
        for function in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)):
            variables = class_variables(function) if function.name in _FUNCTIONS else {}
            for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                name = _name(call)
                if name and _DEPRECATED.search(ast.unparse(call) + _doc(call, variables, types)):
                    found.add(name)
    return found - _SPEAK_OF_IT


def _doc(call: ast.Call, variables: dict[str, str], types: Types) -> str:
    match = re.search(r"(\w+_kwargs)(?:\[['\"](\w+)['\"]\])?", ast.unparse(call))
    if not match or match.group(1) not in variables:
        return ""
    owner, _dot, field = variables[match.group(1)].partition(".")
    return types.docs(owner).get(field or match.group(2) or "", "")


class _Reader:
    def __init__(self, types: Types) -> None:
        self.types = types
        self.taken_out: dict[str, str] = {}

    def _taken_out(self, function: ast.FunctionDef, variables: dict[str, str]) -> Iterator[tuple[str, str]]:
        """``kwargs["field"]["choices"].remove(VALUE)``: the field, as ``Class.field``, and the value."""
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            match = re.match(r"(\w+)\[['\"](\w+)['\"]\]\[['\"]choices['\"]\]\.remove$", ast.unparse(call.func))
            if match and match.group(1) in variables:
                yield f"{variables[match.group(1)]}.{match.group(2)}", str(self.value(call.args[0]))

    def calls(self, module: ast.Module) -> Iterator[tuple[str, dict[str, Any]]]:
        """Options of add_argument calls."""
        for function in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)):
            if function.name in _FUNCTIONS:
                variables = class_variables(function)
                self.taken_out = dict(self._taken_out(function, variables))
                for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
                    name = _name(call)
                    if name:
                        yield name, self._call(call, variables)

    def fields(self, module: ast.Module) -> Iterator[tuple[str, dict[str, Any]]]:
        """Options of the HTTP half: one a field, with what its code changes."""
        text = ast.unparse(module)
        for name in self.types.fields("FrontendArgs"):
            found = self._field("FrontendArgs", name)
            changed = re.search(rf"frontend_kwargs\['{name}'\]\['choices'\] = (.*)", text)
            if changed:
                found["choices"] = self.listed(ast.parse(changed.group(1), mode="eval").body)
            yield name.replace("_", "-"), found

    def _call(self, call: ast.Call, variables: dict[str, str]) -> dict[str, Any]:
        found = dict(_NONE)
        for keyword in call.keywords:
            if keyword.arg is None:
                found.update(self._spread(keyword.value, variables))
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if "action" in given and "store_true" in ast.unparse(given["action"]):
            found["default"] = False
        if "default" in given:
            found["default"] = self.value(given["default"])
        if "choices" in given:
            found["choices"] = self.listed(given["choices"])
        return found

    def _spread(self, node: ast.expr, variables: dict[str, str]) -> dict[str, Any]:
        """``**kwargs["field"]``, or ``**{**kwargs["field"], "default": None}``."""
        text = ast.unparse(node)
        match = re.search(r"(\w+_kwargs)(?:\[['\"](\w+)['\"]\])?", text)
        found: dict[str, Any] = {}
        if match and match.group(1) in variables:
            owner, _dot, field = variables[match.group(1)].partition(".")
            found = self._field(owner, field or match.group(2))
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                if isinstance(key, ast.Constant) and key.value == "default":
                    found["default"] = self.value(value)
        return found

    def _field(self, owner: str, name: str) -> dict[str, Any]:
        hint = self.types.fields(owner)[name]
        default = self.types.defaults(owner).get(name)
        choices = [item for item in self.choices(hint) or () if item != self.taken_out.get(f"{owner}.{name}")]
        return {"default": self.value(default) if default is not None else None, "choices": choices or None}

    def value(self, node: ast.expr, depth: int = 6) -> Any:
        """The value of a default: constants, fields, factories, members of enumerations, fields of other classes."""
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"field", "Field", "dataclasses.field"}:
            return self._of_field(node, depth)
        if isinstance(node, ast.Attribute) and depth:
            return self._attribute(node, depth)
        if isinstance(node, ast.Name) and depth and node.id in self.types.aliases:
            return self.value(self.types.aliases[node.id], depth - 1)
        text = ast.unparse(node)
        return _KNOWN[text] if text in _KNOWN else constant(node)

    def _of_field(self, node: ast.Call, depth: int) -> Any:
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "default" in given or node.args:
            value = given.get("default", node.args[0] if node.args else None)
            return None if value is None or ast.unparse(value) == "..." else self.value(value, depth)
        factory = given.get("default_factory")
        if factory is None:
            return None
        if isinstance(factory, ast.Lambda):
            return self.value(factory.body, depth)
        text = f"{ast.unparse(factory)}()"
        return _KNOWN.get(text, {"code": text})

    def _attribute(self, node: ast.Attribute, depth: int) -> Any:
        """``Enum.MEMBER``, ``Enum.MEMBER.value``, ``Class.field``."""
        if node.attr == "value":
            return self.value(node.value, depth - 1)
        owner = ast.unparse(node.value).rsplit(".", maxsplit=1)[-1]
        members = self.types.members_of(owner)
        there = members if members is not None else self.types.defaults(owner)
        return self.value(there[node.attr], depth - 1) if node.attr in there else constant(node)

    def listed(self, node: ast.expr, depth: int = 6) -> list[str] | None:
        """What ``choices=`` allows: a list, a name of one, the arguments of a type, a loop over these."""
        if isinstance(node, (ast.List, ast.Tuple)):
            return self._items(node, depth)
        if isinstance(node, ast.Name) and depth:
            return self.listed(self.types.aliases[node.id], depth - 1) if node.id in self.types.aliases else None
        if isinstance(node, ast.Call) and node.args and depth:
            if ast.unparse(node.func).endswith("get_args"):
                return self.choices(node.args[0])
            return self.listed(node.args[0], depth - 1)
        if isinstance(node, ast.ListComp) and depth:
            over = node.generators[0].iter
            return self.choices(over) or self.listed(over, depth - 1)
        return None

    def _items(self, node: ast.List | ast.Tuple, depth: int) -> list[str] | None:
        found: list[str] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                found += self.listed(item.value, depth - 1) or []
            else:
                value = constant(item)
                found += [str(value)] if value is not None else []
        return found

    def choices(self, hint: ast.expr) -> list[str] | None:
        """What a type hint allows, when it names the values."""
        found = list(dict.fromkeys(self.types.literals(hint)))
        return found or None


def _name(call: ast.Call) -> str | None:
    if not (isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"):
        return None
    names = [item.value for item in call.args if isinstance(item, ast.Constant) and str(item.value).startswith("-")]
    names.sort(key=lambda name: not str(name).startswith("--"))
    return str(names[0]).lstrip("-") if names else None
