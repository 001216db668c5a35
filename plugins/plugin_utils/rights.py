# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Call a module on a host, and put what Ansible says of missing rights into words with host, user and next command.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import not_let

RunModule = Callable[[], dict[str, Any]]


def as_root(task_vars: Mapping[str, Any] | None, run_module: RunModule) -> dict[str, Any]:
    """The module's result; AnsibleActionFail when the user at the host did not become root."""
    variables = task_vars or {}
    host = str(variables.get("inventory_hostname", "the host"))
    user = str(variables.get("ansible_user") or variables.get("ansible_ssh_user") or "the user of the connection")
    try:
        result = run_module()
    except AnsibleError as error:
        # Whoever cannot be reached stays unreachable; waiting for a prompt that never came is about rights.
        cut = isinstance(error, AnsibleConnectionFailure) and "privilege escalation" not in str(error)
        told = None if cut else not_let(user, str(error))
        if told is None:
            raise
        raise AnsibleActionFail(f"{host}: {told}") from None
    # Where no module ran, there is only what was printed instead of its answer.
    if result.get("failed") and "module_stdout" in result:
        told = not_let(user, f"{result['module_stdout']}\n{result.get('module_stderr', '')}")
        if told:
            raise AnsibleActionFail(f"{host}: {told}")
    if result.get("failed") and result.get("not_root"):
        result["msg"] = f"{host}: {result['msg']}"
    return result


class HostAction(ActionBase):  # type: ignore[misc]
    """An action that calls the module of its own name as root."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the action."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        name, args = self._task.action, self._task.args
        result.update(
            as_root(
                task_vars, lambda: dict(self._execute_module(module_name=name, module_args=args, task_vars=task_vars))
            )
        )
        return result
