# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Follow a run of a service to its end; the work is the module's of the same name."""

from __future__ import annotations

import os
import platform
import pwd
from collections.abc import Mapping
from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.follow import FollowAction


def who() -> str:
    """Name who sits at the controller: the one behind sudo, if there is one, and the machine."""
    user = os.environ.get("SUDO_USER") or pwd.getpwuid(os.getuid()).pw_name
    return f"{user}@{platform.node()}"


class ActionModule(FollowAction):
    """Calls the module until the run has ended; the run itself is driven on the host."""

    def arguments(self, more: dict[str, Any]) -> dict[str, Any]:
        """Say who began it. The call that opens the run ends at once: from then on a cut finds the run by its id."""
        return {**self._task.args, "by": self._task.args.get("by") or who(), **(more or {"wait": 0})}

    def again(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Say whether a failure was shown already: one that was not is told at once, not when all is taken back."""
        return {**super().again(result), "failure_seen": bool(result.get("step_failed"))}
