# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Ask a host for the history of its services; missing rights are told in words."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.rights import HostAction


class ActionModule(HostAction):
    """Calls the module of the same name."""
