#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Find the vLLM servers of a host that somebody started by hand, and propose a service for each."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_adopt_info
short_description: Propose a service for each vLLM server that somebody started by hand
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Looks at the running containers of a host that run a vLLM server and are none of this collection's, however they
    were started, by C(docker run), a compose project or a systemd unit. Servers outside of containers are named.
  - Each becomes a service definition, with everything that could not be carried over as findings. The value of a secret
    never leaves the host. The names of the secrets are told, and where each was found.
  - The action of the same name writes each proposal to a file on the controller, judged like any inventory.
  - With O(services) it says which server each of these services takes over, and fails where one cannot.
  - Nothing on the host changes. The server gets GET requests, no container is entered.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
attributes:
  check_mode:
    support: full
    details:
      - Proposes, and writes no file.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  folder:
    description:
      - The folder on the controller that gets C(HOST/SERVICE.yml), made if it is not there. A relative one is below the
        folder in which Ansible was started.
      - An empty text writes no file.
    type: str
    default: vllm-adopt
  services:
    description:
      - Entries of M(gpuhosts.vllm.vllm_services) that shall take servers over. No proposal is made then.
    type: list
    elements: dict
    default: []
  accept_no_rollback:
    description: Names of services that may take over a server to which there is no way back.
    type: list
    elements: str
    default: []
seealso:
  - module: gpuhosts.vllm.vllm_release
"""

EXAMPLES = r"""
- name: Propose a service for each server that was started by hand
  gpuhosts.vllm.vllm_adopt_info:
  register: found
"""

RETURN = r"""
proposals:
  description:
    - A proposal for each server, with C(name), C(definition), C(secrets) (names, and where each was found),
      C(findings), and C(running), which says how the server runs now.
  type: list
  elements: dict
  returned: when O(services) is empty
bare:
  description: The servers outside of containers, which cannot be adopted.
  type: list
  elements: str
  returned: always
services:
  description: The entries of O(services), each with C(adopt), the server that it takes over.
  type: list
  elements: dict
  returned: when O(services) is not empty
files:
  description: The files on the controller.
  type: list
  elements: str
  returned: when O(services) is empty and O(folder) is not
says:
  description: What the take-over does, for people.
  type: list
  elements: str
  returned: when O(services) is not empty
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.propose import proposals_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.adopt.takeover import match
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.adopt import look
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.containers import DockerError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root


def main() -> None:
    """Run the module; the action of the same name writes the files."""
    spec: dict[str, Any] = {
        "folder": {"type": "str", "default": "vllm-adopt"},
        "services": {"type": "list", "elements": "dict", "default": []},
        "accept_no_rollback": {"type": "list", "elements": "str", "default": []},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    try:
        host = look()
    except DockerError as error:
        module.fail_json(msg=f"Docker does not answer: {error}; see systemctl status docker")
    proposals = proposals_of(host.servers, host.services, host.containers, host.units)
    if not module.params["services"]:
        found = [proposal.to_dict() for proposal in proposals]
        module.exit_json(changed=False, proposals=found, bare=list(host.bare))
    accepted = module.params["accept_no_rollback"]
    taken = [match(each, proposals, host.containers, host.units, accepted) for each in module.params["services"]]
    refused = [f"{each.service}: {each.refused}" for each in taken if each.refused]
    if refused:
        module.fail_json(msg="; ".join([*refused, "nothing was changed"]), bare=list(host.bare))
    services = [{**entry, "adopt": dict(each.running)} for entry, each in zip(module.params["services"], taken)]
    says = [line for each in taken for line in each.says]
    module.exit_json(changed=False, services=services, says=says, bare=list(host.bare))


if __name__ == "__main__":
    main()
