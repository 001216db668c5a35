#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_report
short_description: Print one report of a playbook run over the whole fleet
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Runs on the controller, once for all hosts of the play. Reads what the other plays registered for every host as
    C(vllm_judged), C(vllm_plan), C(vllm_verified) and C(vllm_diagnosed); for V(change) also C(vllm_confirmed) and what
    M(gpuhosts.vllm.vllm_wave) registered as C(vllm_upgraded).
  - Fails when a finding is an error, when a running service differs from its definition, when a change did not commit,
    or when a host never got to its end.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  title:
    description: What the run was.
    type: str
    required: true
  show:
    description: The parts of the report.
    type: list
    elements: str
    choices: [plan, verification, diagnosis, change]
    default: [plan, verification]
  only:
    description: Service names to narrow the report to, a list or a text with commas. Empty means all.
    type: raw
    default: []
  write_to:
    description:
      - A file on the controller that gets the report as JSON.
      - Written in check mode too, since it is what one asks check mode for.
    type: path
"""

EXAMPLES = r"""
- name: Print the report of the fleet
  gpuhosts.vllm.vllm_report:
    title: Verification
  run_once: true
"""

RETURN = r"""
report:
  description: The report as data, with C(title), C(services), C(lost_hosts), C(findings) and C(failed).
  type: dict
  returned: when nothing failed; O(write_to) has it in either case
"""
