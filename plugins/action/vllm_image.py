# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Have the image of a service on the host, and tell how far it is while it comes."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.follow import follow


class ActionModule(ActionBase):  # type: ignore[misc]
    """Calls the module of the same name until its work has ended."""

    TRANSFERS_FILES = False
    _supports_check_mode = True
    _supports_diff = True

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the action."""
        del tmp
        result: dict[str, Any] = super().run(task_vars=task_vars)

        def run_module(more: dict[str, Any]) -> dict[str, Any]:
            arguments = {**self._task.args, **more}
            done: dict[str, Any] = self._execute_module(
                module_name="gpuhosts.vllm.vllm_image", module_args=arguments, task_vars=task_vars
            )
            return done

        result.update(follow(self, run_module))
        return result
