# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Keep the lock file beside the inventory: say which image tags it lacks, and write what a registry answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

from ansible_collections.gpuhosts.vllm.plugins.module_utils.lock import (
    Lock,
    LockedImage,
    LockError,
    locked_image,
    parse_lock,
    render_lock,
    unlocked,
    update_lock,
)
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.lock_file import lock_path, read_lock_file, write_lock_file
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of


def wanted_images(hosts: Iterable[Mapping[str, Any]]) -> set[str]:
    """The images of all services of these hosts that are not to be removed."""
    services = [entry for host in hosts for entry in host.get("vllm_judged", {}).get("services", [])]
    return {entry["image"] for entry in services if entry["state"] != "absent"}


def resolved_images(results: Iterable[Mapping[str, Any]]) -> dict[str, LockedImage]:
    """What the results of vllm_image_digest_info say; a tag that is one image and no index is locked as that image."""
    return {
        str(result["image"]): locked_image(result["index_digest"] or result["manifest_digest"], result["platforms"])
        for result in results
        if "manifest_digest" in result
    }


class ActionModule(ActionBase):
    """The action; nothing leaves the controller."""

    _VALID_ARGS = frozenset(("file", "relock", "resolved"))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Compare the inventory with the file; with answers of a registry, write them into it."""
        super().run(tmp, task_vars)
        variables = task_vars or {}
        path = lock_path(self._task.args.get("file"), variables)
        relock = names_of(self._task.args.get("relock"))
        hosts = [variables["hostvars"][host] for host in variables["ansible_play_hosts_all"]]
        try:
            lock = self._read(path)
            resolved = self._task.args.get("resolved")
            if resolved is None:
                missing = unlocked(lock, wanted_images(hosts), relock)
                return {"changed": False, "path": str(path), "unlocked": missing}
            return self._write(path, lock, update_lock(lock, resolved_images(resolved), relock))
        except (LockError, OSError) as error:
            # The cause would be said a second time in Ansible's message.
            raise AnsibleActionFail(f"{path}: {error}. Nothing was written") from None

    def _read(self, path: Path) -> Lock:
        data, problems = read_lock_file(self._loader, path)
        if problems:
            raise LockError(problems)
        return parse_lock(data)

    def _write(self, path: Path, before: Lock, after: Lock) -> dict[str, Any]:
        """Write the file when the lock changed; an old file keeps its text until then."""
        old = path.read_text(encoding="utf-8") if path.exists() else ""
        changed = before != after
        new = render_lock(after) if changed else old
        if changed and not self._task.check_mode:
            write_lock_file(path, new)
        return {
            "changed": changed,
            "path": str(path),
            "unlocked": [],
            "locked": sorted(name for name in after.images if after.images[name] != before.images.get(name)),
            "diff": {"before": old, "after": new, "before_header": str(path), "after_header": str(path)},
        }
