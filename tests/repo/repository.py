# SPDX-License-Identifier: Apache-2.0
"""What the tests of this folder look at: the files that git knows, the plugins' docs, the roles' files."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

REPO = Path(__file__).resolve().parents[2]
UTILS = REPO / "plugins" / "module_utils"
MODULES = sorted((REPO / "plugins" / "modules").glob("*.py"))
ACTIONS = sorted((REPO / "plugins" / "action").glob("*.py"))
FILTERS = sorted((REPO / "plugins" / "filter").glob("*.py"))
ROLES = sorted(path for path in (REPO / "roles").glob("*") if path.is_dir())
PLAYBOOKS = sorted((REPO / "playbooks").glob("*.yml"))
TOUCHES_THE_WORLD = ("io", "hosttool")


def known_files() -> list[Path]:
    """List what git tracks or would track, so that build folders and caches stay out."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True).stdout
    return [REPO / name for name in sorted(filter(None, listed.split("\0"))) if (REPO / name).is_file()]


def shown(path: Path) -> str:
    """Name a file as a person would, and as pytest's identifiers do."""
    return str(path.relative_to(REPO))


def domain_files() -> list[Path]:
    """List the utils that may only compute: all but those rooms whose work is the world outside."""
    return [path for path in sorted(UTILS.rglob("*.py")) if path.relative_to(UTILS).parts[0] not in TOUCHES_THE_WORLD]


def parsed(path: Path) -> ast.Module:
    """Parse a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(tree: ast.Module) -> list[tuple[str, int]]:
    """List what a file imports as (dotted name, line); relative imports keep their leading dots."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            joint = "" if start.endswith(".") else "."
            found += [(start + joint + alias.name, node.lineno) for alias in node.names]
    return found


def text_constant(path: Path, name: str) -> str | None:
    """Read a module-level text such as DOCUMENTATION, without running the file."""
    for node in parsed(path).body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", None) == name for target in node.targets):
            return str(ast.literal_eval(node.value))
    return None


def end_of_docs(path: Path) -> int:
    """Give the last line of the documentation block of a plugin."""
    names = {"DOCUMENTATION", "EXAMPLES", "RETURN"}
    ends = [
        node.end_lineno or 0
        for node in parsed(path).body
        if isinstance(node, ast.Assign) and names & {getattr(target, "id", "") for target in node.targets}
    ]
    return max(ends, default=0)


def documentation(path: Path) -> dict[str, Any]:
    """Read a plugin's DOCUMENTATION."""
    return yaml.safe_load(text_constant(path, "DOCUMENTATION") or "") or {}


def load(path: Path) -> Any:
    """Read a YAML file."""
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def tasks_in(data: Any) -> list[dict[str, Any]]:
    """List all tasks of a task file or play, those inside blocks too."""
    found: list[dict[str, Any]] = []
    for entry in data or []:
        if not isinstance(entry, dict):
            continue
        parts = [
            entry[key] for key in ("block", "rescue", "always", "tasks", "pre_tasks", "post_tasks") if key in entry
        ]
        if "block" in entry or not parts:
            found.append(entry)
        for part in parts:
            found += tasks_in(part)
    return found


def table_names(text: str) -> list[str]:
    """List the names in backticks of the first column of Markdown tables."""
    return re.findall(r"^\|\s*`([a-z_]+)`\s*\|", text, flags=re.MULTILINE)
