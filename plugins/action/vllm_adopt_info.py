# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Propose services by the module of the same name, and write each proposal to a file on the controller."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleActionFail

from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.review import head, judged
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.bundle import write_bytes_atomic
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.rights import HostAction

_FOREIGN = re.compile(r"[^A-Za-z0-9._-]+")
_WIDTH = 110


def file_text(proposal: dict[str, Any], host: str, today: str) -> str:
    """Give the file: what is said of the proposal as comments, then the definition as a user writes it."""
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head(proposal, host, today))
    definition = {"vllm_extra_services": {proposal["name"]: proposal["definition"]}}
    return f"---\n{comment}{yaml.safe_dump(definition, sort_keys=False, width=_WIDTH, allow_unicode=True)}"


class ActionModule(HostAction):
    """Calls the module, judges what it proposes, and writes it down."""

    _VALID_ARGS = frozenset(("folder", "services", "accept_no_rollback"))

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run the action."""
        result = super().run(tmp, task_vars)
        host = str((task_vars or {}).get("inventory_hostname", "localhost"))
        for each in result.get("bare") or ():
            self._display.display(f"  {host}: a vLLM server outside of containers cannot be adopted: {each}")
        for line in result.get("says") or ():
            self._display.display(f"  {host}: {line}")
        if result.get("failed") or "proposals" not in result:
            return result
        return {**result, **self._written(host, result["proposals"])}

    def _written(self, host: str, proposals: list[dict[str, Any]]) -> dict[str, Any]:
        folder = str(self._task.args.get("folder", "vllm-adopt"))
        today = date.today().isoformat()
        if not proposals:
            self._display.display(f"  {host}: no vLLM server that is not of this collection")
        changed, files, diff = False, [], []
        for proposal in proposals:
            proposal["problems"] = judged(proposal, today)
            self._say(host, proposal)
            if not folder:
                continue
            text = file_text(proposal, host, today)
            path = Path(folder).expanduser().absolute() / _FOREIGN.sub("-", host) / f"{proposal['name']}.yml"
            before = self._write(path, text)
            changed = changed or before != text
            files.append(str(path))
            diff.append({"before": before, "after": text, "before_header": str(path), "after_header": str(path)})
            self._display.display(f"  {host}: {path}")
        return {"changed": changed, "files": files, "diff": diff}

    def _say(self, host: str, proposal: dict[str, Any]) -> None:
        running = proposal["running"]
        whose = f", of the unit {running['unit']}" if running["unit"] else ""
        worst = [each for each in proposal["findings"] if each["severity"] != "info"]
        left = f"{len(worst)} to review, {len(proposal['problems'])} of the judgement"
        container = f"container {running['container']}{whose}, {running['address']}:{running['port']}"
        self._display.display(f"  {host}: {container}: proposed as the service {proposal['name']}; {left}")

    def _write(self, path: Path, text: str) -> str:
        try:
            before = path.read_text(encoding="utf-8") if path.is_file() else ""
            if before != text and not self._task.check_mode:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_bytes_atomic(path, text.encode())
        except OSError as error:
            message = (
                f"vllm_adopt_folder: {path} cannot be written: {error.strerror}. Allowed: a folder of the controller "
                "that its user may write to. Next: correct it, then run gpuhosts.vllm.adopt"
            )
            raise AnsibleActionFail(message) from None
        return before
