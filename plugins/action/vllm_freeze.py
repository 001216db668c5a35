# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Freeze a service on its host, or allow changes again; missing rights are told in words."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.action.vllm_release import who
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.rights import HostAction


class ActionModule(HostAction):
    """Calls the module of the same name."""

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Say who it is."""
        self._task.args = {**self._task.args, "by": self._task.args.get("by") or who()}
        result: dict[str, Any] = super().run(tmp, task_vars)
        return result
