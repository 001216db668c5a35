#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Say what is wrong with a vLLM service, and bring the evidence to the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_diagnose
short_description: Say what is wrong with a vLLM service, and bring the evidence to the controller
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Reads everything that is known of a service and judges it in the order in which one debugs. What its newest start
    said comes first, then versions, configuration and capacity, explicit options, frontends and topology, ranks and
    what they meet through, and what makes answers drift.
  - Works for a service that runs, that fails, that was stopped or was never started, and on a host without Docker. What
    cannot be read is told with the reason, and the rest is read.
  - Nothing on the host changes. The server gets GET requests, no container is entered.
  - The evidence is a tar.gz of at most 20 MB, written on the controller, for its user alone. No secret is in it, of
    variables only the names, and of a reviewed list of switches the values.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
attributes:
  check_mode:
    support: full
    details:
      - Diagnoses, and writes no file.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - Each run writes a file of its own on the controller, named after the moment. The host never changes.
options:
  service:
    description: The service on this host.
    type: str
    required: true
  folder:
    description:
      - The folder on the controller that gets C(HOST-SERVICE-TIME.tar.gz), made if it is not there. A relative one is
        below the folder in which Ansible was started.
      - An empty text writes no evidence.
    type: str
    default: vllm-diagnose
seealso:
  - module: gpuhosts.vllm.vllm_startup_log_info
  - module: gpuhosts.vllm.vllm_verify
"""

EXAMPLES = r"""
- name: Say what is wrong with chat
  gpuhosts.vllm.vllm_diagnose:
    service: chat
  register: chat_diagnosis

- name: Say it without writing the evidence
  gpuhosts.vllm.vllm_diagnose:
    service: chat
    folder: ""
"""

RETURN = r"""
diagnosis:
  description: What was read and found.
  type: dict
  returned: always
  contains:
    service:
      description: The service.
      type: str
      returned: always
    host:
      description: The name that the host gives itself.
      type: str
      returned: always
    at:
      description: When it was read.
      type: str
      returned: always
    findings:
      description: All findings, those of the newest start first, then worst first.
      type: list
      elements: dict
      returned: always
    sections:
      description:
        - The steps, each with C(id), C(title), C(facts) (C(name), C(value), C(source)), C(findings), and C(unread)
          (C(source), C(why)).
      type: list
      elements: dict
      returned: always
bundle:
  description: The file with the evidence on the controller; in check mode the one that would be written.
  type: str
  returned: when O(folder) is not empty
bundle_bytes:
  description: How long it is.
  type: int
  returned: when it was written
"""

import base64
from datetime import datetime, timezone

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.evidence.gather import diagnose_service
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.expected import NotHere, paths_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root


def main() -> None:
    """Run the module; the action of the same name takes the evidence out of its answer and writes it."""
    module = AnsibleModule(
        argument_spec={
            "service": {"type": "str", "required": True},
            "folder": {"type": "str", "default": "vllm-diagnose"},
        },
        supports_check_mode=True,
    )
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    wanted = bool(module.params["folder"]) and not module.check_mode
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    try:
        found = diagnose_service(paths_of(module.params["service"]), now, with_bundle=wanted)
    except NotHere as error:
        module.fail_json(msg=str(error))
    packed = {"bundle_base64": base64.b64encode(found.bundle).decode()} if wanted else {}
    module.exit_json(changed=False, diagnosis=found.report, **packed)


if __name__ == "__main__":
    main()
