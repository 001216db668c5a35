# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How each option of ``vllm serve`` takes its value, by the rules of vLLM's own parser.

The rules by which vLLM turns a field's type into argparse words (``_compute_kwargs`` in vllm/engine/arg_utils.py) are
repeated here: an option that changed its kind is an option whose old definitions break.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

ENGINE, FRONTEND, SERVE = "engine/arg_utils.py", "cli_args.py", "cli/serve.py"
COMMA_LISTS = {"device-ids", "disable-access-log-for-endpoints", "tool-server"}  # their parser splits at commas


class Types:
    """The classes and type aliases of one release."""

    def __init__(self, modules: dict[str, ast.Module]) -> None:
        """Index every class and every alias by name; names are unique enough in vllm/config."""
        self.classes: dict[str, ast.ClassDef] = {}
        self.aliases: dict[str, ast.expr] = {}
        for node in (node for module in modules.values() for node in module.body):
            if isinstance(node, ast.ClassDef):
                self.classes[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.aliases[node.targets[0].id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                self.aliases[node.target.id] = node.value

    def fields(self, name: str) -> dict[str, ast.expr]:
        """Annotations of a class and its bases, in their order."""
        node = self.classes.get(name)
        found: dict[str, ast.expr] = {}
        for base in node.bases if node else ():
            found.update(self.fields(ast.unparse(base)))
        for line in node.body if node else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                found[line.target.id] = line.annotation
        return found

    def members(self, hint: ast.expr, depth: int = 8) -> Iterator[str]:
        """The plain type names of a type hint: unions, Optional, Annotated and aliases are followed."""
        if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
            yield from self.members(ast.parse(hint.value, mode="eval").body, depth)
        elif isinstance(hint, ast.BinOp):
            yield from self.members(hint.left, depth)
            yield from self.members(hint.right, depth)
        elif isinstance(hint, ast.Subscript):
            yield from self._subscript(hint, depth)
        elif isinstance(hint, ast.Name) and depth and self._is_alias(hint.id):
            yield from self.members(self.aliases[hint.id], depth - 1)
        else:
            yield ast.unparse(hint)

    def _is_alias(self, name: str) -> bool:
        return name in self.aliases and not isinstance(self.aliases[name], ast.Call)

    def _subscript(self, hint: ast.Subscript, depth: int) -> Iterator[str]:
        head = ast.unparse(hint.value).rsplit(".", maxsplit=1)[-1]
        parts = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
        if head in {"Union", "Optional"}:
            yield "None" if head == "Optional" else ast.unparse(parts[0])
            for part in parts:
                yield from self.members(part, depth)
        elif head in {"Annotated", "SkipValidation"}:  # the latter is pydantic's name for one
            yield from self.members(parts[0], depth)
        else:
            yield head

    def defaults(self, name: str) -> dict[str, ast.expr]:
        """Defaults of a class and its bases, as they are written."""
        node = self.classes.get(name)
        found: dict[str, ast.expr] = {}
        for base in node.bases if node else ():
            found.update(self.defaults(ast.unparse(base)))
        for line in node.body if node else ():
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value:
                found[line.target.id] = line.value
        return found

    def docs(self, name: str) -> dict[str, str]:
        """The texts that stand below the fields of a class."""
        node = self.classes.get(name)
        found: dict[str, str] = {}
        for base in node.bases if node else ():
            found.update(self.docs(ast.unparse(base)))
        body = node.body if node else []
        for line, after in zip(body, body[1:]):
            if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(after, ast.Expr):
                found[line.target.id] = ast.unparse(after)
        return found

    def members_of(self, name: str) -> dict[str, ast.expr] | None:
        """The members of an enumeration, None where the name is none."""
        node = self.classes.get(name)
        if node is None or not any("Enum" in ast.unparse(base) for base in node.bases):
            return None
        lines = (line for line in node.body if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name))
        return {line.targets[0].id: line.value for line in lines}  # type: ignore[attr-defined]

    def literals(self, hint: ast.expr, depth: int = 8) -> Iterator[str]:
        """The values that a type hint names: of Literals wherever they stand, and the members of enumerations."""
        if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
            yield from self.literals(ast.parse(hint.value, mode="eval").body, depth)
        elif isinstance(hint, ast.BinOp):
            yield from self.literals(hint.left, depth)
            yield from self.literals(hint.right, depth)
        elif isinstance(hint, ast.Subscript):
            yield from self._literal_parts(hint, depth)
        elif isinstance(hint, ast.Name) and depth:
            if self._is_alias(hint.id):  # before an enumeration of the same name in another module
                yield from self.literals(self.aliases[hint.id], depth - 1)
            else:
                yield from _words_of(self.members_of(hint.id) or {})

    def _literal_parts(self, hint: ast.Subscript, depth: int) -> Iterator[str]:
        head = ast.unparse(hint.value).rsplit(".", maxsplit=1)[-1]
        parts = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
        for part in parts[:1] if head == "Annotated" else parts:
            if head != "Literal":
                yield from self.literals(part, depth)
            elif isinstance(part, ast.Constant) and part.value is not None:
                yield str(part.value)
            elif isinstance(part, (ast.Name, ast.Subscript)):
                yield from self.literals(part, depth)

    def is_dataclass(self, name: str) -> bool:
        """Whether argparse gets JSON for this class."""
        node = self.classes.get(name)
        marks = {ast.unparse(mark).split("(", maxsplit=1)[0] for mark in node.decorator_list} if node else set()
        return bool(marks & {"config", "dataclass"}) or (node is None and name.endswith("Config"))

    def is_dict(self, name: str) -> bool:
        """Whether the name is a dict or a subclass of one."""
        bases = (
            {ast.unparse(base).split("[", maxsplit=1)[0] for base in self.classes[name].bases}
            if name in self.classes
            else set()
        )
        return name.lower() == "dict" or bool(bases & {"dict", "Dict"})


def _words_of(members: dict[str, ast.expr]) -> list[str]:
    """What stands for the members: their values; their names where the values are the paths of classes."""
    values = [str(value.value) for value in members.values() if isinstance(value, ast.Constant)]
    return list(members) if any("." in value for value in values) else values


RULES = (  # the order of _compute_kwargs: the first that a type hint contains decides
    ({"bool"}, "flag"),
    ({"Literal"}, "value"),
    ({"tuple", "list", "set", "List", "Tuple", "Set"}, "list"),
    ({"int", "float"}, "value"),
)


def kind_of(types: Types, hint: ast.expr, optional_value: bool) -> str:
    """The kind that vLLM's parser gives to a field of this type."""
    names = set(types.members(hint))
    if any(types.is_dataclass(name) for name in names):
        return "json"
    if optional_value and names == {"bool", "str", "None"}:
        return "flag_value"
    for wanted, kind in RULES:
        if names & wanted:
            return kind
    return "json" if any(types.is_dict(name) for name in names) else "value"


def class_variables(function: ast.FunctionDef) -> dict[str, str]:
    """Which variable holds the fields of which class, or one field of it.

    ``cache_kwargs = get_kwargs(CacheConfig)``, and after it ``block_size_kwargs = cache_kwargs["block_size"]``.
    """
    found: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            text = ast.unparse(node.value)
            match = re.match(r"get_kwargs\((\w+)\)(?:\[['\"](\w+)['\"]\])?$", text)
            part = re.match(r"(\w+)\[['\"](\w+)['\"]\]$", text)
            if match:
                found[node.targets[0].id] = ".".join(word for word in match.groups() if word)
            elif part and part.group(1) in found:
                found[node.targets[0].id] = f"{found[part.group(1)]}.{part.group(2)}"
    return found


EXPLICIT = (  # what an add_argument call says by itself
    (r"action=argparse\.BooleanOptionalAction", "flag"),
    (r"action='store_true'", "switch"),
    (r"action='append'", "append"),
    (r"nargs='\?'", "flag_value"),
    (r"nargs='[+*]'", "list"),
    (r"type=(optional_type\()?json\.loads", "json"),
)


def call_kind(call: ast.Call, types: Types, variables: dict[str, str], optional_value: bool) -> str:
    """The kind of the option that one ``add_argument`` call makes."""
    text = ", ".join(ast.unparse(keyword) for keyword in call.keywords if keyword.arg)
    for pattern, kind in EXPLICIT:
        if re.search(pattern, text):
            return kind
    spread = " ".join(ast.unparse(keyword.value) for keyword in call.keywords if keyword.arg is None)
    match = re.search(r"(\w+_kwargs)(?:\[['\"](\w+)['\"]\])?", spread)
    if not match or match.group(1) not in variables:
        return "value"
    class_name, _dot, field = variables[match.group(1)].partition(".")
    return kind_of(types, types.fields(class_name)[field or match.group(2)], optional_value)


def engine_options(module: ast.Module, types: Types) -> Iterator[tuple[list[str], str]]:
    """Names and kind of every option that the engine's half of the parser adds."""
    optional_value = "Optional-valued flag" in ast.unparse(module) or "'const'" in ast.unparse(module)
    for function in (n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)):
        if function.name not in {"add_cli_args", "make_arg_parser", "subparser_init"}:
            continue
        variables = class_variables(function)
        for call in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument":
                names = [a.value for a in call.args if isinstance(a, ast.Constant) and str(a.value).startswith("-")]
                if names:
                    yield names, call_kind(call, types, variables, optional_value)


def frontend_options(module: ast.Module, types: Types) -> Iterator[tuple[list[str], str]]:
    """Names and kind of every option of the HTTP half: one a field, with its special cases."""
    text = ast.unparse(module)
    for field, hint in types.fields("FrontendArgs").items():
        kind = kind_of(types, hint, optional_value=False)
        if f"frontend_kwargs['{field}']['type'] = json.loads" in text:
            kind = "json_list" if f"del frontend_kwargs['{field}']['nargs']" in text else "json"
        elif f"frontend_kwargs['{field}']['action'] = 'append'" in text:
            kind = "append"
        yield ["--" + field.replace("_", "-")], kind


def options(modules: dict[str, ast.Module]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Every option of one release: its name without dashes, its kind, its other names."""
    types = Types(modules)
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for path, module in modules.items():
        pairs = list(engine_options(module, types)) if path.endswith((ENGINE, FRONTEND, SERVE)) else []
        pairs += list(frontend_options(module, types)) if path.endswith(FRONTEND) else []
        for names, kind in pairs:
            first, *others = sorted(names, key=lambda name: (not name.startswith("--"), names.index(name)))
            key = first.lstrip("-")
            found[key] = ("comma" if key in COMMA_LISTS else kind, tuple(others))
    return found
