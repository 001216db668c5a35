#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_wave
short_description: Look back at the waves that went before, or note how the runs of a host ended
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Runs on the controller, in a play with C(serial).
  - Without O(runs) it says whether the hosts of this wave may go. They may when every service that a human named has
    committed, or needed nothing, on every host of an earlier wave. A host that became unreachable keeps them back.
  - With O(runs) it notes how the runs of this host ended, over what was noted before. Register it as
    C(vllm_upgraded), which is what later waves and M(gpuhosts.vllm.vllm_report) read.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  runs:
    description: The results of the loop over M(gpuhosts.vllm.vllm_release), whether they failed or not.
    type: list
    elements: dict
seealso:
  - module: gpuhosts.vllm.vllm_release
  - module: gpuhosts.vllm.vllm_report
"""

EXAMPLES = r"""
- name: Look back at the hosts that went before
  gpuhosts.vllm.vllm_wave:
  register: vllm_wave

- name: Write down how the runs went
  gpuhosts.vllm.vllm_wave:
    runs: "{{ vllm_release_runs.results }}"
  register: vllm_upgraded
"""

RETURN = r"""
go_on:
  description: Whether the hosts of this wave may go.
  type: bool
  returned: without O(runs)
halted_by:
  description: The hosts of earlier waves that did not commit.
  type: list
  elements: str
  returned: without O(runs)
canary:
  description: Whether this is the first wave.
  type: bool
  returned: without O(runs)
runs:
  description: The result of M(gpuhosts.vllm.vllm_release) for each service, by its name.
  type: dict
  returned: with O(runs)
waiting:
  description: The services whose run waits for the controller's word, as maps with a C(name).
  type: list
  elements: dict
  returned: with O(runs)
"""
