#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_confirm
short_description: Take a human's word that names the services to stop, start or remove
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Runs on the controller. Reads what M(gpuhosts.vllm.vllm_services) and M(gpuhosts.vllm.vllm_plan_info) registered
    as C(vllm_judged) and C(vllm_plan) for every host of the play, and what M(gpuhosts.vllm.vllm_release_info)
    registered as C(vllm_history) where nobody reads the inventory.
  - A run that stops or changes a service needs a word that names it. No word, or a name that no host has, is an error
    that lists the names there are.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  verb:
    description: What is about to be done, for the messages.
    type: str
    required: true
  word:
    description: The services that the human named, a list or a text with commas.
    type: raw
    default: ''
  variable:
    description:
      - The variable that the word was given in, for the messages.
      - V(vllm_confirm) has to name a service; all others may be empty, and may name only services that there are.
    type: str
    default: vllm_confirm
"""

EXAMPLES = r"""
- name: Find the services that were named
  gpuhosts.vllm.vllm_confirm:
    verb: stop
    word: "{{ vllm_confirm | default('') }}"
  register: vllm_confirmed
"""

RETURN = r"""
names:
  description: The services that the human named, as a list.
  type: list
  elements: str
  returned: always
services:
  description:
    - The named services that this host has.
    - An entry of M(gpuhosts.vllm.vllm_services), or only a name for one that left the inventory.
  type: list
  elements: dict
  returned: always
"""
