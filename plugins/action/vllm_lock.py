# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Keep the lock file of an inventory: what is not locked yet, and what a registry said of it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
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
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of


def images_of(variables: Mapping[str, Any]) -> list[str]:
    """Give every image that a service of the play's hosts uses, sorted."""
    hosts = (variables["hostvars"][host] for host in variables["ansible_play_hosts_all"])
    services = (service for host in hosts for service in host.get("vllm_judged", {}).get("services", []))
    return sorted({service["image"] for service in services if service["state"] != "absent"})


def read_lock(path: Path) -> tuple[Lock, str]:
    """Read the lock file and its text; a file that is not there is an empty lock."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return parse_lock(yaml.safe_load(text)), text


def resolved_images(results: list[Mapping[str, Any]]) -> dict[str, LockedImage]:
    """Take what vllm_image_digest_info returned, by image; a single image without an index is locked as itself."""
    return {
        result["image"]: locked_image(result["index_digest"] or result["manifest_digest"], result["platforms"])
        for result in results
        if result.get("manifest_digest")
    }


def difference(path: Path, before: str, after: str) -> str:
    """Show the change of the file, line by line."""
    name = str(path)
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), name, name))


class ActionModule(ActionBase):
    """The action; nothing leaves the controller."""

    _VALID_ARGS = frozenset(("file", "relock", "resolved"))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Say what is unlocked, and write what was resolved."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        path = Path(self._task.args["file"])
        try:
            result.update(self._lock(path, task_vars or {}))
        except LockError as error:
            raise AnsibleActionFail(f"{path}: {error}. Next: correct it, then run gpuhosts.vllm.lock again") from error
        except (OSError, yaml.YAMLError) as error:
            raise AnsibleActionFail(f"{path} cannot be read or written: {error}") from error
        return result

    def _lock(self, path: Path, variables: Mapping[str, Any]) -> dict[str, Any]:
        relock = names_of(self._task.args.get("relock"))
        lock, before = read_lock(path)
        resolved = resolved_images(self._task.args.get("resolved") or [])
        locked = update_lock(lock, resolved, relock)
        # Comments and order of a file that needs no entry stay as somebody left them.
        after = render_lock(locked) if locked != lock else before
        if after != before and not self._task.check_mode:
            path.write_text(after, encoding="utf-8")
        return {
            "changed": after != before,
            "unlocked": unlocked(lock, images_of(variables), relock),
            "diff": {"prepared": difference(path, before, after)},
        }
