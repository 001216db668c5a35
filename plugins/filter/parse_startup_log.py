# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Read a start-up log of vLLM."""

from __future__ import annotations

DOCUMENTATION = r"""
name: parse_startup_log
short_description: Read a start-up log of vLLM
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Reads what a start of vLLM 0.4 to 0.33 printed, whatever was put in front of its lines on the way (Docker, compose,
    journald, Kubernetes, CI, notebooks, JSON logging), with or without colours, also wrapped, cut or newest line first.
  - Judges the last start in the text and names the root cause of a failure. Each diagnosis has a page in
    C(docs/runbooks/diagnoses).
  - To read a start of a service on its host, use M(gpuhosts.vllm.vllm_startup_log_info), which returns the same map.
options:
  _input:
    description: The text, or its lines.
    type: raw
    required: true
seealso:
  - module: gpuhosts.vllm.vllm_startup_log_info
"""

EXAMPLES = r"""
- name: Say what a log that somebody saved died of
  ansible.builtin.debug:
    msg: "{{ start.diagnosis }}: {{ start.remedy }}"
  vars:
    start: "{{ lookup('ansible.builtin.file', 'vllm.log') | gpuhosts.vllm.parse_startup_log }}"
"""

RETURN = r"""
_value:
  description: The same map as C(startup) of M(gpuhosts.vllm.vllm_startup_log_info), without secrets.
  type: dict
  sample: {"state": "failed", "diagnosis": "port_in_use", "details": {"port": 8000}, "vllm_version": "0.32.0"}
"""

from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log as parse
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.lines_of import text_or_lines


def parse_startup_log(text: Any) -> dict[str, Any]:
    """Read the text of a log, or its lines."""
    return parse(text_or_lines(text, "parse_startup_log", "a log")).to_dict()


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Give the filters by name."""
        return {"parse_startup_log": parse_startup_log}
