# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Diagnose a service by the module of the same name, and write the evidence that it brings on the controller."""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.bundle import write_bytes_atomic
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.rights import HostAction

_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")


def bundle_name(host: str, service: str, at: str) -> str:
    """Name the evidence: host, service and moment; what no file name should have becomes a dash."""
    moment = re.sub(r"[-:]", "", at)
    return "-".join(_FOREIGN.sub("-", word).strip(".-") or "x" for word in (host, service, moment)) + ".tar.gz"


class ActionModule(HostAction):
    """Calls the module and takes the evidence out of its answer, so that no result and no callback carries it."""

    _VALID_ARGS = frozenset(("service", "folder"))

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the action."""
        result = super().run(tmp, task_vars)
        packed = result.pop("bundle_base64", None)
        folder = self._task.args.get("folder", "vllm-diagnose")
        if result.get("failed") or not folder:
            return result
        found = result["diagnosis"]
        host = str((task_vars or {}).get("inventory_hostname") or found["host"])
        path = Path(str(folder)).expanduser().absolute() / bundle_name(host, found["service"], found["at"])
        if packed is not None:
            data = base64.b64decode(packed)
            self._write(path, data)
            result["bundle_bytes"] = len(data)
        return {**result, "changed": True, "bundle": str(path)}

    @staticmethod
    def _write(path: Path, data: bytes) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_bytes_atomic(path, data)
        except OSError as error:
            message = (
                f"vllm_diagnose_folder: {path} cannot be written: {error.strerror}. Allowed: a folder of the "
                "controller that its user may write to. Next: correct it, then run gpuhosts.vllm.diagnose"
            )
            raise AnsibleActionFail(message) from None
