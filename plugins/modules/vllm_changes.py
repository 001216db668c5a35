#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_changes
short_description: Choose what an upgrade changes on each host
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Runs on the controller. Reads what M(gpuhosts.vllm.vllm_services) and M(gpuhosts.vllm.vllm_plan_info) registered
    as C(vllm_judged) and C(vllm_plan) for every host of the play.
  - Fails before any host changes when a named service cannot be upgraded on one of them, naming each of these with its
    reason and what to type. So does a host that has a named service and could not be looked at.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  names:
    description: The services that a human named, a list or a text with commas.
    type: raw
    required: true
"""

EXAMPLES = r"""
- name: Choose what changes
  gpuhosts.vllm.vllm_changes:
    names: "{{ vllm_confirmed.names }}"
  register: vllm_changing
"""

RETURN = r"""
services:
  description:
    - The named services of this host that have a run to make or to follow.
    - Entries of M(gpuhosts.vllm.vllm_services), each with its plan under the key C(plan).
  type: list
  elements: dict
  returned: always
runs:
  description: The same in short, a C(name) and the C(id) of the C(release), which is all that a run is told.
  type: list
  elements: dict
  returned: always
"""
