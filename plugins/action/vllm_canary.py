# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Compare the canary with the rest of the fleet and print the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import failing, finding_from_dict
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.canary import Measured, compare, table_lines

display = Display()


def measured(host: str, result: Mapping[str, Any] | None, args: Any) -> Measured | None:
    """What a verification saw; None where there was none."""
    if result is None or "facts" not in result:
        return None
    facts = result["facts"]
    failed = [finding.id for finding in failing(map(finding_from_dict, result["findings"]))]
    seconds = [float(each) for each in facts.get("request_seconds") or ()]
    return Measured(host, failed, facts.get("kv_cache_tokens"), seconds, list(args or ()))


def of_service(results: Any, name: str) -> Mapping[str, Any] | None:
    """The result of a looped task for one service."""
    return next((each for each in results or () if (each.get("item") or {}).get("name") == name), None)


def wanted_args(variables: Mapping[str, Any], name: str) -> Any:
    """The arguments that the inventory asks for."""
    services = variables.get("vllm_judged", {}).get("services", [])
    return next((each["release"]["content"]["args"] for each in services if each["name"] == name), None)


def running_args(variables: Mapping[str, Any], name: str) -> Any:
    """The arguments that ran when the play began: those of the plan where they differ, else those that are wanted."""
    plans = variables.get("vllm_plan", {}).get("plan", [])
    running = next((each.get("running") for each in plans if each["name"] == name), None)
    return running["args"] if running else wanted_args(variables, name)


class ActionModule(ActionBase):
    """The action; nothing leaves the controller."""

    _VALID_ARGS = frozenset(("now", "services"))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Compare each service of the canary that waits; all have to hold."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        compared = {}
        for service in self._task.args["services"]:
            compared[service["name"]] = self._compared(service["name"], variables)
        problems = [f"{name}: {problem}" for name, each in compared.items() for problem in each["problems"]]
        return {**result, "changed": False, "holds": not problems, "problems": problems, "compared": compared}

    def _compared(self, name: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        fleet, host = variables["hostvars"], variables["inventory_hostname"]
        before = {
            other: measured(
                other,
                of_service(fleet[other].get("vllm_measured", {}).get("results"), name),
                running_args(fleet[other], name),
            )
            for other in variables["groups"]["all"]
            if fleet[other].get("vllm_measured")
        }
        now = measured(host, of_service(self._task.args["now"], name), wanted_args(variables, name))
        rest = [each for other, each in before.items() if other != host and each is not None]
        compared = compare(now or Measured(host, ["not verified"]), before.get(host), rest)
        for line in table_lines(host, name, compared):
            display.display(f"  {line}")
        return compared.to_dict()
