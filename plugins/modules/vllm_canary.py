#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_canary
short_description: Compare the canary with the rest of the fleet
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Runs on the controller, for the host whose runs wait for the controller's word. Prints a table.
  - All claims of the canary have to hold.
  - Its KV cache must have 0.95 of the tokens that it had before, and of the median of the rest. Only engines that were
    started with the same arguments are compared.
  - The median of five small completions after one that warms up must not be longer than twice the median of the rest,
    or 0.25 seconds more, whichever is longer. A fleet of one host is compared with its own past.
  - Reads what M(gpuhosts.vllm.vllm_verify) with C(requests=6) registered for every host as C(vllm_measured) before the
    waves.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  services:
    description: The services that wait, as maps with a C(name).
    type: list
    elements: dict
    required: true
  now:
    description: The results of a loop with M(gpuhosts.vllm.vllm_verify) over these services.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Compare the canary with the rest
  gpuhosts.vllm.vllm_canary:
    services: "{{ vllm_upgraded.waiting }}"
    now: "{{ vllm_canary_measured.results }}"
  register: vllm_canary_compared
"""

RETURN = r"""
holds:
  description: Whether nothing speaks against the canary.
  type: bool
  returned: always
problems:
  description: What speaks against it.
  type: list
  elements: str
  returned: always
compared:
  description: The table of each service, by its name.
  type: dict
  returned: always
"""
