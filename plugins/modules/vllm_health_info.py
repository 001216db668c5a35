#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Look at a vLLM server with GET requests only."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_health_info
short_description: Look at a vLLM server with GET requests only
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Asks a server for its health, version, models, load and metrics, and judges the answers.
  - Makes GET requests only, follows no redirect and uses no proxy. The answers are read up to a size, and O(timeout)
    holds for all requests together, also against a server that sends one byte at a time.
  - Does not fail when the server is ill; look at RV(passed) and RV(findings).
  - A server that answers is not a server that serves. M(gpuhosts.vllm.vllm_verify) asks for a real completion.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  url:
    description: The address of the server, without a path.
    type: str
    default: http://127.0.0.1:8000
  checks:
    description: What to ask for.
    type: list
    elements: str
    choices: [health, version, models, load, metrics]
    default: [health, version, models, load, metrics]
  timeout:
    description: Seconds for all checks together.
    type: float
    default: 10.0
  api_key:
    description:
      - The API key of the server, which V(models) needs where the server has one.
      - It is sent as a header and shown nowhere.
    type: str
seealso:
  - module: gpuhosts.vllm.vllm_verify
  - plugin: gpuhosts.vllm.parse_metrics
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Look at the server of this host
  gpuhosts.vllm.vllm_health_info:
    url: http://127.0.0.1:8000
  register: chat_health

- name: Wait until nothing runs
  gpuhosts.vllm.vllm_health_info:
    checks: [metrics]
  register: chat_load
  until: chat_load.facts.metrics.running | default(1) == 0
  retries: 30
  delay: 2
"""

RETURN = r"""
passed:
  description: Whether every check passed.
  type: bool
  returned: always
timed_out:
  description: Whether the time ran out before all checks were made.
  type: bool
  returned: always
checks:
  description: The checks that were asked for, and whether each passed.
  type: dict
  returned: always
  sample: {"health": true, "version": true}
seconds:
  description: How long it took.
  type: float
  returned: always
facts:
  description: What the answers say; a fact is there when its check got an answer.
  type: dict
  returned: always
  contains:
    health:
      description: The HTTP status of C(/health).
      type: int
      returned: when V(health) passed
    version:
      description: The version of vLLM.
      type: str
      returned: when V(version) passed
    models:
      description: The names of the models, the first 64 of them.
      type: list
      elements: str
      returned: when V(models) got an answer
    model_count:
      description: How many models are listed.
      type: int
      returned: when V(models) got an answer
    server_load:
      description: Running requests, as far as the server counts them.
      type: int
      returned: when V(load) passed
    metrics:
      description:
        - What P(gpuhosts.vllm.parse_metrics#filter) reads from C(/metrics), of every release. C(prefix) of the metric
          names (V(vllm:), V(ray_vllm:) or V(ray_vllm_)), C(state) (V(idle), V(busy) or V(no_samples)), C(running) and
          C(waiting) requests over all engines, C(kv_cache_usage) (0 to 1, the largest of the engines), C(engines),
          C(model_name), C(kv_cache_size_tokens) and C(kv_cache_max_concurrency) from 0.24.0 on, counters and more.
        - What the server does not tell is null, an empty list or an empty map.
      type: dict
      returned: when V(metrics) got an answer
findings:
  description: One judgement a check, worst first, with C(id), C(severity), C(subject) and C(message).
  type: list
  elements: dict
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.judge import CHECKS
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.http import is_url
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.serving import check_health

KEPT = ("passed", "timed_out", "checks", "seconds", "facts", "findings")


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "url": {"type": "str", "default": "http://127.0.0.1:8000"},
            "checks": {"type": "list", "elements": "str", "choices": list(CHECKS), "default": list(CHECKS)},
            "timeout": {"type": "float", "default": 10.0},
            "api_key": {"type": "str", "no_log": True},
        },
        supports_check_mode=True,
    )
    url = module.params["url"].rstrip("/")
    if not is_url(url):
        module.fail_json(msg="url: expected http://HOST[:PORT] or https://HOST[:PORT], without user and password")
    if not module.params["timeout"] > 0:
        module.fail_json(msg=f"timeout: {module.params['timeout']}, expected seconds, more than 0")
    report = check_health(
        url,
        tuple(dict.fromkeys(module.params["checks"])),
        timeout=module.params["timeout"],
        api_key=module.params["api_key"],
    ).to_dict()
    module.exit_json(changed=False, **{key: report[key] for key in KEPT})


if __name__ == "__main__":
    main()
