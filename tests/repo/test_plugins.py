# SPDX-License-Identifier: Apache-2.0
"""Every module and action is documented, in the action group, and states what it does in check and diff mode."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.repo.repository import ACTIONS, FILTERS, MODULES, REPO, documentation, load, shown, text_constant

FRAGMENT = "gpuhosts.vllm.attributes"
SUPPORT = {"full", "partial", "none", "N/A"}
DUAL = "# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0"


def attributes(path: Path) -> dict[str, dict[str, str]]:
    """Merge a module's own attributes with those that the fragment for reading modules sets."""
    docs = documentation(path)
    merged: dict[str, dict[str, str]] = {}
    if f"{FRAGMENT}.info" in docs["extends_documentation_fragment"]:
        merged = {"check_mode": {"support": "full"}, "diff_mode": {"support": "N/A"}, "idempotent": {"support": "full"}}
    return {**merged, **docs.get("attributes", {})}


def test_the_action_group_is_complete() -> None:
    groups = load(REPO / "meta" / "runtime.yml")["action_groups"]
    assert groups["vllm"] == sorted(path.stem for path in MODULES)


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_modules_extend_the_fragments(path: Path) -> None:
    extended = documentation(path)["extends_documentation_fragment"]
    assert {FRAGMENT, f"{FRAGMENT}.actiongroup_vllm"} <= set(extended)


@pytest.mark.parametrize("path", MODULES, ids=shown)
@pytest.mark.parametrize("attribute", ["check_mode", "diff_mode", "idempotent"])
def test_modules_state_their_support(path: Path, attribute: str) -> None:
    assert attributes(path).get(attribute, {}).get("support") in SUPPORT


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_documentation_is_complete(path: Path) -> None:
    docs = documentation(path)
    assert docs["module"] == path.stem
    assert docs["version_added"]
    assert not docs["short_description"].endswith(".")
    assert yaml.safe_load(text_constant(path, "EXAMPLES") or "")
    assert yaml.safe_load(text_constant(path, "RETURN") or "")


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_examples_use_full_names(path: Path) -> None:
    used = f"gpuhosts.vllm.{path.stem}"
    examples = yaml.safe_load(text_constant(path, "EXAMPLES") or "")
    assert any(used in task for task in examples), f"no example of {used}"


@pytest.mark.parametrize("path", ACTIONS, ids=shown)
def test_actions_are_documented_by_a_module(path: Path) -> None:
    assert (REPO / "plugins" / "modules" / path.name) in MODULES


@pytest.mark.parametrize("path", [*MODULES, *ACTIONS, *FILTERS], ids=shown)
def test_plugins_carry_both_licences(path: Path) -> None:
    head = path.read_text(encoding="utf-8").splitlines()[:6]
    assert DUAL in head
    assert any("GNU General Public License v3.0 or later" in line for line in head)
    assert (head[0] == "#!/usr/bin/python") == (path in MODULES)


@pytest.mark.parametrize("path", FILTERS, ids=shown)
def test_filters_are_documented(path: Path) -> None:
    assert documentation(path).get("name") == path.stem
