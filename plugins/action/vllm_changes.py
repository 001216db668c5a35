# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Choose what an upgrade changes on each host, and refuse what it cannot before any host changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.waves import is_to_change, refusal
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of


def host_problems(host: str, variables: Mapping[str, Any], names: list[str], reached: bool) -> list[str]:
    """Why the named services of one host cannot be upgraded."""
    services = {entry["name"] for entry in variables.get("vllm_judged", {}).get("services", [])}
    left = set(variables.get("vllm_plan", {}).get("left_inventory", []))
    mine = [name for name in names if name in services or name in left]
    if mine and not reached:
        has = ", ".join(mine)
        return [f"{host}: it could not be looked at, and has {has}. Next: bring it back, or use --limit '!{host}'"]
    plans = {entry["name"]: entry for entry in variables.get("vllm_plan", {}).get("plan", [])}
    told = [refusal(plans.get(name), name) for name in mine]
    return [f"{host}: {problem}" for problem in told if problem]


class ActionModule(ActionBase):
    """The action; nothing leaves the controller."""

    _VALID_ARGS = frozenset(("names",))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Judge every host of the play, then give this host's part of it."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        names = names_of(self._task.args.get("names"))
        reached, hosts = set(variables["ansible_play_hosts"]), variables["ansible_play_hosts_all"]
        problems = [
            problem
            for host in hosts
            for problem in host_problems(host, variables["hostvars"][host], names, host in reached)
        ]
        if problems:
            raise AnsibleActionFail("no host was changed. " + "\n".join(problems))
        plans = {entry["name"]: entry for entry in variables["vllm_plan"]["plan"]}
        services = [
            {**service, "plan": plans[service["name"]]}
            for service in variables["vllm_judged"]["services"]
            if service["name"] in names and is_to_change(plans[service["name"]])
        ]
        runs = [{"name": service["name"], "release": {"id": service["release"]["id"]}} for service in services]
        return {**result, "changed": False, "services": services, "runs": runs}
