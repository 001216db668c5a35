# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Look back at the waves that went before, or note how the runs of this host ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.waves import WAITS, Changed, changed, halted_by
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.changes import changes_of


def runs_of(results: Any) -> dict[str, Mapping[str, Any]]:
    """What the role's task said of each service, by its name."""
    return {entry["item"]["name"]: entry for entry in results or () if "name" in (entry.get("item") or {})}


def waits(service: Mapping[str, Any], run: Mapping[str, Any] | None) -> bool:
    """Whether a run of the service waits for the controller's word."""
    return run is not None and changed(service["plan"], run).result == WAITS


class ActionModule(ActionBase):
    """The action; nothing leaves the controller."""

    _VALID_ARGS = frozenset(("runs",))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Look back; with ``runs`` note them, over those that were noted before."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        looked = self._note(variables) if "runs" in self._task.args else self._look_back(variables)
        return {**result, "changed": False, **looked}

    def _note(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        noted = {**variables.get("vllm_upgraded", {}).get("runs", {}), **runs_of(self._task.args["runs"])}
        services = (variables.get("vllm_changing") or {}).get("services") or ()
        waiting = [{"name": each["name"]} for each in services if waits(each, noted.get(each["name"]))]
        return {"runs": noted, "waiting": waiting}

    def _look_back(self, variables: Mapping[str, Any]) -> dict[str, Any]:
        hosts, batch = variables["ansible_play_hosts_all"], set(variables["ansible_play_batch"])
        first = next((index for index, host in enumerate(hosts) if host in batch), 0)
        earlier: list[tuple[str, list[Changed]]] = [
            (host, list(changes_of(variables["hostvars"][host]).values())) for host in hosts[:first]
        ]
        halted = halted_by(earlier)
        return {"canary": first == 0, "go_on": not halted, "halted_by": halted, **_told(halted)}


def _told(halted: list[str]) -> dict[str, str]:
    if not halted:
        return {}
    return {"msg": f"this host stays as it is: {', '.join(halted)} went before it and did not commit"}
