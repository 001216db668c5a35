# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Judge what the inventory says of one host's services; everything happens on the controller."""

from __future__ import annotations

from datetime import date
from typing import Any

from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.judge import Asked, is_said, judge
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError, describe
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.lock_file import lock_path, read_lock_file

OFF = ("false", "no", "off", "0")
JUDGED = ("services", "extra_services", "defaults", "secrets", "registry", "hf_endpoint", "waivers")


class ActionModule(ActionBase):
    """The action; no host is asked."""

    _VALID_ARGS = frozenset((*JUDGED, "lock_file", "require_lock", "audit_stops"))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Judge the arguments and the lock file together, so that one run names all that is wrong."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        args = self._task.args
        path = lock_path(args.get("lock_file"), variables)
        lock, lock_problems = read_lock_file(self._loader, path)
        asked = Asked(
            **{name: args.get(name) for name in JUDGED},
            lock=lock,
            lock_name=str(path),
            require_lock=str(args.get("require_lock", True)).lower() not in OFF,
            lock_problems=lock_problems,
            today=date.today().isoformat(),
            audit_stops=str(args.get("audit_stops", True)).lower() not in OFF,
        )
        try:
            judged = judge(asked)
        except ServicesError as error:
            return failed(str(variables.get("inventory_hostname", "localhost")), error)
        return {
            "changed": False,
            "services": judged.services,
            "notes": [note.to_dict() for note in judged.notes],
            "warnings": [f"{note.subject}: {note.message}; {note.remedy}" for note in judged.notes if is_said(note)],
        }


def failed(host: str, error: ServicesError) -> dict[str, Any]:
    """The result of an inventory that cannot be used: one message for people, the same as data."""
    count = len(error.problems)
    head = f"The inventory of {host} has {count} problem{'' if count == 1 else 's'}; nothing was changed on any host."
    return {
        "failed": True,
        "changed": False,
        "msg": f"{head}\n{describe(error.problems, host)}",
        "problems": [{"host": host, **problem.to_dict()} for problem in error.problems],
    }
