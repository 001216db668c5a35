# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Read a page of /metrics."""

from __future__ import annotations

DOCUMENTATION = r"""
name: parse_metrics
short_description: Read a page of /metrics of a vLLM server
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Reads the text that a vLLM server of any release from 0.5 to 0.33 gives for C(/metrics), also through Ray Serve.
  - To ask a server for it, use M(gpuhosts.vllm.vllm_health_info), whose fact C(metrics) is the same map.
options:
  _input:
    description: The text, or its lines.
    type: raw
    required: true
seealso:
  - module: gpuhosts.vllm.vllm_health_info
"""

EXAMPLES = r"""
- name: Read a page that somebody saved
  ansible.builtin.debug:
    msg: "{{ (lookup('ansible.builtin.file', 'metrics.txt') | gpuhosts.vllm.parse_metrics).running }}"

- name: Say how much the KV cache of the server holds
  ansible.builtin.debug:
    msg: "{{ (page.content | gpuhosts.vllm.parse_metrics).kv_cache_size_tokens }} tokens"
"""

RETURN = r"""
_value:
  description:
    - Every name is always there. What the page does not tell is null, an empty list or an empty map.
    - C(prefix) of the names (V(vllm:), V(ray_vllm:) or V(ray_vllm_)), C(state) (V(idle), V(busy), V(no_samples) where
      families have no value yet, null where nothing is of vLLM), C(model_name), C(engines) (the labels).
    - C(running), C(waiting) and C(swapped) requests and all counters are sums over engines; C(running_by_engine),
      C(waiting_by_engine) and C(kv_cache_usage_by_engine) are the same by engine, C(waiting_by_reason) by reason,
      C(prompt_tokens_by_source) by source. C(engines_by_sleep_state) counts engines that are awake and that sleep.
    - C(kv_cache_usage) is the used share (0 to 1) in every release; the names of the releases are
      C(kv_cache_usage_perc), C(gpu_cache_usage_perc) and C(cpu_cache_usage_perc). Of several
      engines the largest counts.
    - C(prefix_hit_rate) is V(-1) where it was not measured.
    - C(success) counts finished requests by reason, and C(requests_REASON) is one of them.
    - C(ttft_count), C(ttft_sum) and the same of C(itl), C(tpot) and C(e2e) are the histograms of latencies in seconds.
    - C(spec_drafts), C(spec_draft_tokens), C(spec_accepted_tokens), C(spec_accepted_by_position) are about speculation.
    - C(block_size), C(num_gpu_blocks), C(num_cpu_blocks), C(cache_dtype), and from 0.24.0 C(kv_cache_size_tokens) and
      C(kv_cache_max_concurrency) are of the KV cache; C(cache_config) has all labels of it as they were printed.
      With data parallelism vLLM adds up the blocks of all engines, but not the tokens.
    - C(max_lora), C(running_lora_adapters), C(waiting_lora_adapters) are of the newest row about adapters.
  type: dict
  sample: {"prefix": "vllm:", "state": "busy", "engines": ["0"], "running": 2, "waiting": 0, "kv_cache_usage": 0.25}
"""

from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.parse import parse_metrics as parse
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.lines_of import text_or_lines


def parse_metrics(text: Any) -> dict[str, Any]:
    """Read the text of a page, or its lines."""
    return parse(text_or_lines(text, "parse_metrics", "/metrics")).to_dict()


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Give the filters by name."""
        return {"parse_metrics": parse_metrics}
