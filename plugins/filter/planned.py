# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Choose the services that a plan says something about."""

from __future__ import annotations

DOCUMENTATION = r"""
name: planned
short_description: The services whose plan is one of the given actions
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Joins what M(gpuhosts.vllm.vllm_plan_info) said of a host with the entries of M(gpuhosts.vllm.vllm_services).
positional: services, actions, only
options:
  _input:
    description: The result of M(gpuhosts.vllm.vllm_plan_info).
    type: dict
    required: true
  services:
    description: The entries of M(gpuhosts.vllm.vllm_services).
    type: list
    elements: dict
    required: true
  actions:
    description: The actions to choose.
    type: list
    elements: str
    required: true
  only:
    description: Service names to narrow the choice to, a list or a text with commas. Empty means all.
    type: raw
    default: []
"""

EXAMPLES = r"""
- name: Print what would start for the first time
  ansible.builtin.debug:
    msg: "{{ vllm_plan | gpuhosts.vllm.planned(vllm_judged.services, ['first_start']) | map(attribute='name') }}"
"""

RETURN = r"""
_value:
  description: The chosen entries, each with its plan under the key C(plan).
  type: list
  elements: dict
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of


def planned(
    plan: Mapping[str, Any], services: Sequence[Mapping[str, Any]], actions: Sequence[str], only: Any = ()
) -> list[dict[str, Any]]:
    """Give the service entries whose planned action is in ``actions``, narrowed to ``only`` when it names any."""
    wanted = names_of(only)
    by_name = {entry["name"]: entry for entry in plan["plan"] if entry["action"] in actions}
    return [
        {**service, "plan": by_name[service["name"]]}
        for service in services
        if service["name"] in by_name and (not wanted or service["name"] in wanted)
    ]


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Give the filters by name."""
        return {"planned": planned}
