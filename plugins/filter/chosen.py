# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Narrow services to those that a human named."""

from __future__ import annotations

DOCUMENTATION = r"""
name: chosen
short_description: The services that a human named, or all of them
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Gives the entries whose C(name) is among the names, and all of them where no name is given.
positional: only
options:
  _input:
    description: Maps with a key C(name).
    type: list
    elements: dict
    required: true
  only:
    description: Service names, a list or a text with commas. Empty means all.
    type: raw
    default: []
"""

EXAMPLES = r"""
- name: Print the services that vllm_only names
  ansible.builtin.debug:
    msg: "{{ vllm_judged.services | gpuhosts.vllm.chosen(vllm_only | default([])) | map(attribute='name') }}"
"""

RETURN = r"""
_value:
  description: The chosen entries.
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of


def chosen(entries: Sequence[Mapping[str, Any]], only: Any = ()) -> list[Mapping[str, Any]]:
    """Give the entries whose name is among those that were named, or all of them."""
    wanted = names_of(only)
    return [entry for entry in entries if not wanted or entry["name"] in wanted]


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Give the filters by name."""
        return {"chosen": chosen}
