# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read from released vLLM sources how each option of ``vllm serve`` takes its value, and write option_kinds.yml.

    pip download --no-deps --no-binary :all: vllm==0.32.0   # or fetch vllm-0.32.0.tar.gz from the index
    python tools/derive_option_kinds.py FOLDER_WITH_SDISTS > tools/option_kinds.yml

Nothing of vLLM is run: the parser's source is read, and the rules by which vLLM turns a field's type into
argparse words (``_compute_kwargs`` in vllm/engine/arg_utils.py) are repeated here. Review the difference before
it is committed: an option that changed its kind is an option whose old definitions break.
"""

from __future__ import annotations

import ast
import re
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

SOURCES = re.compile(r"[^/]+/vllm/(config/.*|config|engine/arg_utils|entrypoints/(?:\w+/cli_args|cli/serve))\.py$")
ENGINE, FRONTEND, SERVE = "engine/arg_utils.py", "cli_args.py", "cli/serve.py"
SEEN_IN_WHEELS = {
    "mamba-cache-mode": "0.15.0",
    "mm-encoder-only": "0.15.0",
    "ssl-ciphers": "0.15.0",
}  # no sdist of 0.15
COMMA_LISTS = {"device-ids", "disable-access-log-for-endpoints", "tool-server"}  # their parser splits at commas
HEAD = """---
# How each option of `vllm serve` takes its value, by release, read from the released sources.
# Made by tools/derive_option_kinds.py and reviewed by people; tools/generate_option_table.py makes the Python table.
#
# kind: flag        --x, or --no-x where `negatable` says so
#       switch      --x only, false is its default
#       flag_value  --x or --x VALUE
#       value       --x VALUE
#       list        --x A B
#       json        --x '{...}', a text is passed as it stands
#       json_list   --x '["a"]'
#       append      --x A --x B
#       comma       --x A,B
# since, until: first release that has it, first release without it (null: the oldest or newest release read)
"""


def sources(archive: Path) -> dict[str, ast.Module]:
    """The modules that define the parser, by path inside the archive."""
    with tarfile.open(archive) as tar:
        members = [member for member in tar if SOURCES.match(member.name)]
        return {m.name: ast.parse(tar.extractfile(m).read().decode()) for m in members}  # type: ignore[union-attr]


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
        elif head == "Annotated":
            yield from self.members(parts[0], depth)
        else:
            yield head

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
    """``cache_kwargs = get_kwargs(CacheConfig)``: which variable holds the fields of which class."""
    found = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            match = re.match(r"get_kwargs\((\w+)\)(?:\[['\"](\w+)['\"]\])?$", ast.unparse(node.value))
            if match:
                found[node.targets[0].id] = ".".join(part for part in match.groups() if part)
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


def release_key(archive: Path) -> tuple[int, ...]:
    """Sort archives by release."""
    return tuple(int(part) for part in re.findall(r"\d+", archive.name))


def spans(table: dict[str, dict[str, tuple[str, tuple[str, ...]]]], name: str) -> Iterator[str]:
    """The lines of one option: one a stretch of releases in which its kind and its names stay the same."""
    releases = list(table)
    rows = [table[release].get(name) for release in releases]
    starts = [index for index, row in enumerate(rows) if index == 0 or row != rows[index - 1]]
    for start, end in zip(starts, [*starts[1:], len(rows)]):
        row = rows[start]
        if row:
            since = SEEN_IN_WHEELS.get(name, releases[start]) if start else None
            until = releases[end] if end < len(rows) else None
            words = [f"kind: {row[0]}"]
            words += ["negatable: true"] if row[0] == "flag" else []
            words += [f"since: {since}"] if since else []
            words += [f"until: {until}"] if until else []
            words += [f"also: [{', '.join(row[1])}]"] if row[1] else []
            yield f"  - {{{', '.join(words)}}}"


def main(folder: str) -> int:
    """Print the YAML for every ``vllm-*.tar.gz`` of a folder."""
    archives = sorted(Path(folder).glob("vllm-*.tar.gz"), key=release_key)
    table = {archive.name[5:-7]: options(sources(archive)) for archive in archives}
    releases = fill(", ".join(table), 114, initial_indent="    ", subsequent_indent="    ")
    print(f"{HEAD}releases:\n  [\n{releases}\n  ]\noptions:")
    for name in sorted({name for found in table.values() for name in found}):
        print(f"  {name}:")
        print("\n".join("  " + line for line in spans(table, name)))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
