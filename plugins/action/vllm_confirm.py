# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Take a human's word that names the services to stop, start or remove."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of


def services_on(host: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Give what a host has by name: what its inventory says, and what only the host itself says."""
    left = host.get("vllm_plan", {}).get("left_inventory", [])
    there = [entry["name"] for entry in host.get("vllm_history", {}).get("services", [])]
    known: dict[str, dict[str, Any]] = {name: {"name": name} for name in (*left, *there)}
    known.update({entry["name"]: entry for entry in host.get("vllm_judged", {}).get("services", [])})
    return known


def unheard(verb: str, named: list[str], known: set[str], variable: str = "vllm_confirm") -> str | None:
    """Say why the word cannot be followed, or None when it can; only ``vllm_confirm`` has to say something."""
    have = ", ".join(sorted(known)) or "none"
    if not named and variable != "vllm_confirm":
        return None
    if not named:
        return (
            f"{verb} needs a word that names the service. Services of these hosts: {have}. "
            f"Next: run it again with -e vllm_confirm=NAME"
        )
    foreign = [name for name in named if name not in known]
    if foreign:
        return (
            f"{variable} names {', '.join(foreign)}, which no host of this play has. "
            f"Services of these hosts: {have}. Next: correct the name, or the --limit"
        )
    return None


class ActionModule(ActionBase):
    """The action; nothing leaves the controller."""

    _VALID_ARGS = frozenset(("verb", "word", "variable"))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Judge the word against every host of the play, then give this host's part of it."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        named = names_of(self._task.args.get("word"))
        fleet = [services_on(variables["hostvars"][host]) for host in variables["ansible_play_hosts_all"]]
        known = {name for host in fleet for name in host}
        problem = unheard(self._task.args["verb"], named, known, self._task.args.get("variable", "vllm_confirm"))
        if problem:
            raise AnsibleActionFail(problem)
        mine = services_on(variables["hostvars"][variables["inventory_hostname"]])
        return {"changed": False, "names": named, "services": [mine[name] for name in named if name in mine]}
