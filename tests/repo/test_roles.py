# SPDX-License-Identifier: Apache-2.0
"""Argument specs, defaults and README of a role say the same; roles put modules in order and do nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.repo.repository import PLAYBOOKS, ROLES, load, shown, table_names, tasks_in

TASK_FILES = sorted(path for role in ROLES for path in role.glob("tasks/**/*.yml"))
HANDLER_FILES = sorted(path for role in ROLES for path in role.glob("handlers/**/*.yml"))
SHELL = {f"ansible.builtin.{name}" for name in ("command", "shell", "raw", "script", "expect")}
# A task of a role that runs a command because no module does it: `role/file: name of the task`, with the reason.
NO_MODULE_FOR_IT: dict[str, str] = {}
MODULE_KEY = re.compile(r"^[a-z_]+\.[a-z_]+\.[a-z_]+$")


def options_of(role: Path) -> dict[str, dict[str, Any]]:
    """Read the options of a role's main entry point."""
    return load(role / "meta" / "argument_specs.yml")["argument_specs"]["main"].get("options", {})


def modules_of(task: dict[str, Any]) -> list[str]:
    """List what a task calls by its full name."""
    return [key for key in task if MODULE_KEY.match(key)]


def test_there_are_roles() -> None:
    assert ROLES


@pytest.mark.parametrize("role", ROLES, ids=shown)
def test_specs_and_defaults_agree(role: Path) -> None:
    text = (role / "defaults" / "main.yml").read_text(encoding="utf-8")
    defaults = load(role / "defaults" / "main.yml") or {}
    options = options_of(role)
    # An input that has no sensible default stands in the file as a comment, so that the file names them all.
    commented = set(re.findall(rf"^# ({role.name}_[a-z_]+):", text, flags=re.MULTILINE)) - set(defaults)
    assert set(defaults) | commented == set(options)
    assert {name: spec.get("default") for name, spec in options.items() if name in defaults} == defaults
    assert not [name for name in commented if "default" in options[name]]


@pytest.mark.parametrize("role", ROLES, ids=shown)
def test_readme_table_names_every_input(role: Path) -> None:
    assert table_names((role / "README.md").read_text(encoding="utf-8")) == list(options_of(role))


@pytest.mark.parametrize("role", ROLES, ids=shown)
def test_readme_states_the_promises(role: Path) -> None:
    text = (role / "README.md").read_text(encoding="utf-8").lower()
    missing = [word for word in ("idempotent", "atomic", "reversible", "check mode") if word not in text]
    assert not missing, f"README does not say if the role is: {missing}"


@pytest.mark.parametrize("role", ROLES, ids=shown)
def test_inputs_carry_the_roles_name(role: Path) -> None:
    assert not [name for name in options_of(role) if not name.startswith(f"{role.name}_")]


@pytest.mark.parametrize("role", ROLES, ids=shown)
def test_roles_have_what_a_role_has(role: Path) -> None:
    meta = load(role / "meta" / "main.yml")
    assert meta["galaxy_info"]["description"]
    assert not meta.get("dependencies")


@pytest.mark.parametrize("path", TASK_FILES + HANDLER_FILES, ids=shown)
def test_roles_run_no_commands(path: Path) -> None:
    bad = [task["name"] for task in tasks_in(load(path)) if SHELL & set(modules_of(task))]
    assert not [name for name in bad if f"{shown(path)}: {name}" not in NO_MODULE_FOR_IT]


@pytest.mark.parametrize("path", TASK_FILES, ids=shown)
def test_roles_do_not_compute(path: Path) -> None:
    facts = [task["name"] for task in tasks_in(load(path)) if "ansible.builtin.set_fact" in task]
    assert len(facts) <= 1, "a chain of set_fact belongs into a plugin"


def test_handlers_start_no_engine() -> None:
    """Nor does one restart Docker: every service of the host would go down with it."""
    for path in HANDLER_FILES:
        text = path.read_text(encoding="utf-8")
        assert not (re.search(r"state:\s*(re)?started", text) and "vllm-" in text), shown(path)
        assert not re.search(r"name:\s*docker(\.service)?\s*\n\s*state:\s*restarted", text), shown(path)


@pytest.mark.parametrize("path", TASK_FILES + HANDLER_FILES + PLAYBOOKS, ids=shown)
def test_only_builtin_and_own_modules_are_used(path: Path) -> None:
    used = {name for task in tasks_in(load(path)) for name in modules_of(task)}
    assert not {name for name in used if not name.startswith(("ansible.builtin.", "gpuhosts.vllm."))}


@pytest.mark.parametrize("path", TASK_FILES + HANDLER_FILES + PLAYBOOKS, ids=shown)
def test_tasks_and_plays_are_sentences(path: Path) -> None:
    for entry in [*(load(path) if path in PLAYBOOKS else []), *tasks_in(load(path))]:
        name = entry.get("name", "")
        assert name, f"no name: {sorted(entry)}"
        assert re.match(r"^([a-z_]+ \| )?[A-Z]", name), name
        assert not name.endswith("."), name


@pytest.mark.parametrize("path", PLAYBOOKS, ids=shown)
def test_playbooks_change_hosts_through_roles_only(path: Path) -> None:
    """A task of a playbook may look, judge and report; only modules of ours, none of which writes to a host."""
    looks_only = {
        "gpuhosts.vllm.vllm_adopt_info",
        "gpuhosts.vllm.vllm_canary",
        "gpuhosts.vllm.vllm_changes",
        "gpuhosts.vllm.vllm_confirm",
        "gpuhosts.vllm.vllm_diagnose",
        "gpuhosts.vllm.vllm_health_info",
        "gpuhosts.vllm.vllm_host_info",
        "gpuhosts.vllm.vllm_image_digest_info",
        "gpuhosts.vllm.vllm_lock",
        "gpuhosts.vllm.vllm_plan_info",
        "gpuhosts.vllm.vllm_release_info",
        "gpuhosts.vllm.vllm_report",
        "gpuhosts.vllm.vllm_services",
        "gpuhosts.vllm.vllm_startup_log_info",
        "gpuhosts.vllm.vllm_verify",
        "gpuhosts.vllm.vllm_wave",
        "ansible.builtin.assert",
        "ansible.builtin.debug",
        "ansible.builtin.fail",
        "ansible.builtin.group_by",
        "ansible.builtin.import_playbook",
        "ansible.builtin.include_role",
        "ansible.builtin.meta",
        "ansible.builtin.setup",
    }
    used = {name for task in tasks_in(load(path)) for name in modules_of(task)}
    assert used <= looks_only


def test_no_group_names_in_roles() -> None:
    words = re.compile(r"groups\[|group_names|hostvars")
    found = [shown(path) for path in TASK_FILES if words.search(path.read_text(encoding="utf-8"))]
    assert not found, "roles take what they need as inputs"
