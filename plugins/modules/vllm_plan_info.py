#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Say what would happen to the vLLM services of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_plan_info
short_description: Say what would happen to the vLLM services of a host
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Compares what the inventory wants with what the host has, service by service and item by item.
  - Works on a bare host, without Docker, and with Docker down.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  services:
    description: The services of the host, as RV(gpuhosts.vllm.vllm_services#module:services) has them.
    type: list
    elements: dict
    required: true
  retry:
    description: Services to plan as if their release had never failed here.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: See what would change
  gpuhosts.vllm.vllm_plan_info:
    services: "{{ vllm_judged.services }}"
  register: vllm_plan
"""

RETURN = r"""
plan:
  description: One entry a service.
  type: list
  elements: dict
  returned: always
  contains:
    name:
      description: The service.
      type: str
      returned: always
    action:
      description:
        - What would happen. V(first_start), V(unchanged), V(differs) (it runs another release and is left alone),
          V(quarantined) (the inventory wants what went back here),
          V(stays_stopped), V(frozen), V(failed), V(stop), V(remove), V(busy) (a run has not ended) or V(nothing).
      type: str
      returned: always
    reason:
      description: Why, in a sentence.
      type: str
      returned: always
    wanted:
      description: The release that the inventory wants.
      type: str
      returned: always
    current:
      description: The release that the service runs.
      type: str
      returned: always
    last_good:
      description: The release that was committed last.
      type: str
      returned: always
    goes_back_to:
      description: The release that a rollback would lead to; null where there is none.
      type: str
      returned: always
    differences:
      description: What differs between the recorded release and the wanted one, as C(what), C(before) and C(after).
      type: list
      elements: dict
      returned: always
    running:
      description: The C(version) and C(args) of the release that runs, where another one is wanted.
      type: dict
      returned: always
    downtime_seconds:
      description: How long the service would not answer, from its measured starts; null where nobody can know.
      type: float
      returned: always
    kv_cache_tokens:
      description: The tokens of the KV cache of what is current, from the log of its start; null where it does not say.
      type: int
      returned: always
    way_back:
      description: How to get back to what is now.
      type: str
      returned: always
    next:
      description: The command to type.
      type: str
      returned: always
    by_hand:
      description:
        - What somebody did past the playbooks, each with the command that undoes it. A unit that is disabled or masked,
          a container that is paused or renamed.
      type: list
      elements: str
      returned: always
left_inventory:
  description: The services that are on the host and not in its inventory.
  type: list
  elements: str
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.observe import observe, services_on_host
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.starts import kv_cache_tokens
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.plan import left_inventory, plan_service


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "services": {"type": "list", "elements": "dict", "required": True},
            "retry": {"type": "list", "elements": "str", "default": []},
        },
        supports_check_mode=True,
    )
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    services, retry = module.params["services"], module.params["retry"]
    try:
        seen = [(wanted, observe(Paths(wanted["name"]))) for wanted in services]
        plan = [
            {
                **plan_service(wanted, state, retry=wanted["name"] in retry).to_dict(),
                "kv_cache_tokens": kv_cache_tokens(Paths(state.name), state.current),
            }
            for wanted, state in seen
        ]
        left = left_inventory(services_on_host(), [wanted["name"] for wanted in services])
    except OSError as error:
        module.fail_json(msg=f"the state of the services cannot be read: {error}")
    module.exit_json(changed=False, plan=plan, left_inventory=left)


if __name__ == "__main__":
    main()
