# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Find the entry of a list that has a name."""

from __future__ import annotations

DOCUMENTATION = r"""
name: named
short_description: The entry of a list that has a name
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Gives the first map whose C(name) is the one asked for, or an empty map, which is what check mode has for things
    to come.
positional: name
options:
  _input:
    description: Maps with a key C(name).
    type: list
    elements: dict
    required: true
  name:
    description: The name to look for.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: Print the image id of a service
  ansible.builtin.debug:
    msg: "{{ (vllm_image_result | gpuhosts.vllm.named('chat')).image_id }}"
"""

RETURN = r"""
_value:
  description: The entry, or an empty map.
  type: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any


def named(entries: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """Give the entry called ``name``, or an empty map."""
    return next((entry for entry in entries if entry.get("name") == name), {})


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Give the filters by name."""
        return {"named": named}
