#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Documentation of the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_lock
short_description: Keep the lock file that says which digests the image tags of an inventory mean
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Runs on the controller. Reads the services of every host of the play, as C(vllm_judged) has them, and the lock file.
  - Says which image tags are not locked yet, and writes what a registry said of them.
  - A tag that is locked stays as it is, unless it is named.
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
    description: The lock file on the controller.
    type: path
    required: true
  relock:
    description: Images to resolve again although they are locked, a list or a text with commas.
    type: raw
    default: []
  resolved:
    description: What M(gpuhosts.vllm.vllm_image_digest_info) returned for the images.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Find the tags that are not locked yet
  gpuhosts.vllm.vllm_lock:
    file: "{{ inventory_dir }}/vllm.lock.yml"
  register: vllm_lock_wanted
"""

RETURN = r"""
unlocked:
  description: The images that a registry has to be asked for.
  type: list
  elements: str
  returned: always
  sample: ["vllm/vllm-openai:v0.32.0"]
"""
