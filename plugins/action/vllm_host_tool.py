# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Build the on-host tool on the controller and install it; the host's part is the module of the same name."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.rights import as_root
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.zipapp import (
    Zipapp,
    build,
    collection_sources,
    collection_version,
)

COLLECTION = Path(__file__).resolve().parents[2]


class ActionModule(ActionBase):
    """The action: the program travels only to a host that does not have it yet."""

    _VALID_ARGS = frozenset(())
    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Build, ask the host, send when it lacks the file, install."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        tool = build(collection_sources(COLLECTION), collection_version(COLLECTION))
        args = {"name": tool.name, "version": tool.version, "digest": tool.digest}
        answer = self._module(args, task_vars)
        if answer.get("needs_file") and not self._task.check_mode and not answer.get("failed"):
            answer = self._install(tool, args, task_vars)
        result.update(answer)
        return result

    def _install(self, tool: Zipapp, args: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        folder = self._make_tmp_path()
        try:
            with tempfile.NamedTemporaryFile(suffix=".pyz") as local:
                local.write(tool.data)
                local.flush()
                source = self._transfer_file(local.name, self._connection._shell.join_path(folder, tool.name))
            self._fixup_perms2((folder, source))
            return self._module({**args, "source": source}, task_vars)
        finally:
            self._remove_tmp_path(folder)

    def _module(self, args: dict[str, Any], task_vars: dict[str, Any] | None) -> dict[str, Any]:
        name = "gpuhosts.vllm.vllm_host_tool"
        return as_root(
            task_vars, lambda: dict(self._execute_module(module_name=name, module_args=args, task_vars=task_vars))
        )
