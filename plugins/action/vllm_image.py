# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Have the image of a service on the host, and tell how far it is while it comes."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.follow import FollowAction


class ActionModule(FollowAction):
    """Calls the module of the same name until the pull has ended."""
