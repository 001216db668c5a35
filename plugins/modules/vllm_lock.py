#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Keep the file that says which digests the image tags of an inventory mean."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_lock
short_description: Keep the file that says which digests the image tags of an inventory mean
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Without O(resolved), says which images of the inventory's services the file does not have yet.
  - With O(resolved), writes what a registry answered. A tag that the file has stays as it is, unless it is named.
  - The same content is always the same text, so that a difference can be reviewed and committed.
  - Runs on the controller, and reads what M(gpuhosts.vllm.vllm_services) registered as C(vllm_judged) for each host of
    the play. The playbook C(gpuhosts.vllm.lock) uses it in that way.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  file:
    description:
      - The lock file. A relative path starts at the inventory.
      - By default C(vllm.lock.yml) beside the inventory.
    type: path
  relock:
    description: Images to resolve again although the file has them, as a list, or as one text with commas.
    type: raw
    default: []
  resolved:
    description: Results of M(gpuhosts.vllm.vllm_image_digest_info), one for each image.
    type: list
    elements: dict
"""

EXAMPLES = r"""
- name: Find the tags that are not locked yet
  gpuhosts.vllm.vllm_lock:
  register: vllm_lock_wanted
  run_once: true

- name: Ask the registry what each tag means
  gpuhosts.vllm.vllm_image_digest_info:
    image: "{{ item }}"
  loop: "{{ vllm_lock_wanted.unlocked }}"
  register: vllm_lock_resolved
  run_once: true

- name: Write the lock file
  gpuhosts.vllm.vllm_lock:
    resolved: "{{ vllm_lock_resolved.results }}"
  run_once: true
"""

RETURN = r"""
path:
  description: The lock file.
  type: str
  returned: success
  sample: /srv/inventory/vllm.lock.yml
unlocked:
  description: Images to ask a registry for; empty after writing.
  type: list
  elements: str
  returned: success
  sample: ["vllm/vllm-openai:v0.32.0"]
locked:
  description: Images whose entry is new or changed.
  type: list
  elements: str
  returned: when O(resolved) is given
"""
