#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Look at a host and judge if it can run vLLM services."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_host_info
short_description: Look at a host and judge if it can run vLLM services
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Reads what the host is (operating system, systemd, cgroups, memory, disks, Docker, GPUs, who listens on which port),
    and judges it for the given services. It never changes anything.
  - For images and models that are not on the host yet, the registry and the hub are asked if they have them.
  - A host without Docker is judged too.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
  - gpuhosts.vllm.registry
options:
  services:
    description: The services to judge for, as M(gpuhosts.vllm.vllm_services) returns them. Only started ones count.
    type: list
    elements: dict
    default: []
  fail_on:
    description: Whether findings of severity error fail the module, all in one message.
    type: str
    choices: [error, never]
    default: never
  engine_expected:
    description:
      - Whether Docker, and a way to give GPUs to containers, have to be there.
      - If V(false), the role P(gpuhosts.vllm.container_engine#role) is still to come, and what it brings is not missed.
    type: bool
    default: true
  hf_endpoint:
    description: URL of the Hugging Face hub that models come from.
    type: str
    default: https://huggingface.co
  cache:
    description: The folder for caches.
    type: path
    default: /var/cache/gpuhosts-vllm
  min_memory_gib:
    description: The least memory that a host may have.
    type: float
    default: 4.0
  reserve_gib:
    description: Room that has to stay free on each file system.
    type: float
    default: 5.0
  image_room_factor:
    description: How much room a pull takes on Docker's file system, in multiples of the compressed size.
    type: float
    default: 3.0
"""

EXAMPLES = r"""
- name: See what the host is
  gpuhosts.vllm.vllm_host_info:
  register: host
"""

RETURN = r"""
facts:
  description:
    - What the host is, with C(os), C(systemd), C(cgroup), memory, C(disks), C(engine), C(gpu) and C(listeners).
    - C(device_request) says how containers get GPUs here, V(cdi), V(gpus) or V(none).
    - C(toolkit_missing) says if a GPU is there and nothing that gives it to containers, C(wants_cdi) if Docker should
      be told to use the container device interface.
  type: dict
  returned: success
findings:
  description: What is not as the services need it, the worst first.
  type: list
  elements: dict
  returned: always
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import WARNING, Finding, failing
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.engine import (
    device_request,
    toolkit_missing,
    wants_cdi,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.judge import Limits, failure_text, judge_host
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal, sentence
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.wanted import wanted
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.host import Sources, gather_host, look_for
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.options import REGISTRY_OPTION
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings


def look(params: dict[str, Any]) -> tuple[dict[str, Any], list[Finding]]:
    """Look and judge."""
    services = wanted(params["services"])
    settings = registry_settings(params["registry"])
    host = gather_host(params["cache"])
    seen = look_for(services, host, Sources(params["cache"], params["hf_endpoint"], settings))
    limits = Limits(
        params["min_memory_gib"], params["reserve_gib"], params["image_room_factor"], params["engine_expected"]
    )
    facts = {
        **host.to_dict(),
        "device_request": device_request(host.engine, host.gpu),
        "toolkit_missing": toolkit_missing(host.gpu),
        "wants_cdi": wants_cdi(host.engine, host.gpu),
    }
    return facts, judge_host(host, services, seen, limits)


def main() -> None:
    """Run the module."""
    spec = {
        "services": {"type": "list", "elements": "dict", "default": []},
        "registry": REGISTRY_OPTION,
        "fail_on": {"type": "str", "choices": ["error", "never"], "default": "never"},
        "engine_expected": {"type": "bool", "default": True},
        "hf_endpoint": {"type": "str", "default": "https://huggingface.co"},
        "cache": {"type": "path", "default": "/var/cache/gpuhosts-vllm"},
        "min_memory_gib": {"type": "float", "default": 4.0},
        "reserve_gib": {"type": "float", "default": 5.0},
        "image_room_factor": {"type": "float", "default": 3.0},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        facts, findings = look(module.params)
    except Refusal as stop:
        module.fail_json(msg=str(stop), findings=[stop.finding.to_dict()])
    told = [finding.to_dict() for finding in findings]
    for finding in findings:
        if finding.severity == WARNING:
            module.warn(sentence(finding))
    if module.params["fail_on"] == "error" and failing(findings):
        module.fail_json(msg=failure_text(findings), findings=told)
    module.exit_json(changed=False, facts=facts, findings=told)


if __name__ == "__main__":
    main()
