# SPDX-License-Identifier: Apache-2.0
"""The rooms of the code stay what CONTRIBUTING says that they are."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.repo.repository import (
    ACTIONS,
    FILTERS,
    MODULES,
    REPO,
    UTILS,
    domain_files,
    end_of_docs,
    imports,
    parsed,
    shown,
)

# Modules of the standard library that reach out of the process, or read its clock, environment or randomness.
OUTSIDE = {
    "asyncio", "ctypes", "fcntl", "fileinput", "ftplib", "getpass", "glob", "grp", "http.client", "io", "logging",
    "multiprocessing", "os", "platform", "pwd", "random", "resource", "secrets", "select", "selectors", "shutil",
    "signal", "smtplib", "socket", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib.request",
    "uuid",
}  # fmt: skip
OUTSIDE_CALLS = {"open", "print", "input", "exec", "eval", "__import__"}
OUTSIDE_METHODS = {
    "chmod", "exists", "expanduser", "is_dir", "is_file", "is_symlink", "iterdir", "lstat", "mkdir", "now",
    "read_bytes", "read_text", "readlink", "rglob", "rmdir", "stat", "symlink_to", "today", "touch", "unlink",
    "utcnow", "write_bytes", "write_text",
}  # fmt: skip
LINES_OF_A_MODULE = 150


def starts_with(name: str, roots: set[str]) -> bool:
    """Say if a dotted name is one of these modules or lies below one."""
    return any(name == root or name.startswith(root + ".") for root in roots)


def allowed_in_utils(name: str) -> bool:
    """Say if a util may import this: the standard library, or a neighbour by a relative name."""
    return name.startswith(".") or name.split(".", maxsplit=1)[0] in sys.stdlib_module_names


def test_there_is_something_to_look_at() -> None:
    assert len(domain_files()) > 3
    assert MODULES


@pytest.mark.parametrize("path", domain_files(), ids=shown)
def test_domain_code_only_computes(path: Path) -> None:
    tree = parsed(path)
    bad = [f"line {line}: imports {name}" for name, line in imports(tree) if starts_with(name, OUTSIDE)]
    bad += [
        f"line {line}: imports {name}, a room that touches the world"
        for name, line in imports(tree)
        if name.startswith(".") and name.lstrip(".").split(".")[0] in {"io", "hosttool"}
    ]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in OUTSIDE_CALLS:
            bad.append(f"line {node.lineno}: calls {node.func.id}()")
        if isinstance(node.func, ast.Attribute) and node.func.attr in OUTSIDE_METHODS:
            bad.append(f"line {node.lineno}: calls .{node.func.attr}()")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("path", sorted(UTILS.rglob("*.py")), ids=shown)
def test_utils_need_the_standard_library_only(path: Path) -> None:
    bad = [f"line {line}: {name}" for name, line in imports(parsed(path)) if not allowed_in_utils(name)]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("path", sorted(UTILS.rglob("*.py")), ids=shown)
def test_utils_say_that_they_are_private(path: Path) -> None:
    if path.read_text(encoding="utf-8"):
        assert (ast.get_docstring(parsed(path)) or "").endswith("Private to the collection.")


@pytest.mark.parametrize("path", [*sorted(UTILS.rglob("*.py")), *MODULES, *ACTIONS, *FILTERS], ids=shown)
def test_commands_are_run_in_io_only(path: Path) -> None:
    if (UTILS / "io") in path.parents:
        return
    bad = [f"line {line}: {name}" for name, line in imports(parsed(path)) if starts_with(name, {"subprocess", "pty"})]
    bad += [
        f"line {node.lineno}: {node.attr}"
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in {"system", "popen", "run_command"}
    ]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("path", sorted((REPO / "plugins").rglob("*.py")), ids=shown)
def test_only_modules_end_a_module(path: Path) -> None:
    calls = [
        node.lineno
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Attribute) and node.attr in {"exit_json", "fail_json"}
    ]
    assert path in MODULES or not calls, f"lines {calls}"


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_modules_are_thin(path: Path) -> None:
    after = len(path.read_text(encoding="utf-8").splitlines()) - end_of_docs(path)
    assert after <= LINES_OF_A_MODULE, f"{after} lines after the documentation"


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_modules_import_what_travels(path: Path) -> None:
    allowed = ("ansible.module_utils.", "ansible_collections.gpuhosts.vllm.plugins.module_utils.")
    bad = [
        f"line {line}: {name}"
        for name, line in imports(parsed(path))
        if not name.startswith(allowed) and name.split(".")[0] not in sys.stdlib_module_names
    ]
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("path", [*ACTIONS, *FILTERS], ids=shown)
def test_controller_plugins_keep_off_the_network(path: Path) -> None:
    network = {"socket", "ssl", "http.client", "urllib.request", "requests"}
    assert not [name for name, _line in imports(parsed(path)) if starts_with(name, network)]
