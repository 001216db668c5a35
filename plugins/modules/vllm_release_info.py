#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Tell the history of the vLLM services of a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_release_info
short_description: Tell the history of the vLLM services of a host
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Reads the journal of every service of the host, or of one. Who changed what, when and why, how it ended, what was
    different, how long the start took and how much the KV cache held.
  - Says which releases were good here, which are not tried again without a word, and where a rollback would lead.
  - Reads files of the host only. Neither Docker nor a network nor the inventory is needed.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  service:
    description: The service. All services of the host when it is not given.
    type: str
seealso:
  - module: gpuhosts.vllm.vllm_release
"""

EXAMPLES = r"""
- name: Read the history of every service
  gpuhosts.vllm.vllm_release_info:
  register: vllm_history
"""

RETURN = r"""
services:
  description: One entry a service.
  type: list
  elements: dict
  returned: always
  contains:
    name:
      description: The service.
      type: str
      returned: always
    current:
      description: The release that the service has now.
      type: str
      returned: always
    last_good:
      description: The release that was committed last.
      type: str
      returned: always
    goes_back_to:
      description: The release that a rollback would lead to which names none; null where there is none.
      type: str
      returned: always
    committed:
      description: Every release that was committed on this host, oldest first. A rollback may name them.
      type: list
      elements: str
      returned: always
    quarantined:
      description: Releases that are not tried again here without a word, each with the reason.
      type: dict
      returned: always
    frozen:
      description: Why changes are forbidden; null when they are not.
      type: str
      returned: always
    kv_cache_tokens:
      description: The tokens that the KV cache of what is current holds; null where its start did not say.
      type: int
      returned: always
    runs:
      description:
        - Every run, oldest first, with C(run), C(kind), C(release), C(previous), C(at), C(by), C(why), C(result),
          C(reason), C(changed) (items as C(what), C(before), C(after)), C(start_seconds) and C(kv_cache_tokens).
      type: list
      elements: dict
      returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.history import history_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.observe import services_on_host
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import JournalError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={"service": {"type": "str"}}, supports_check_mode=True)
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    there = services_on_host()
    name = module.params["service"]
    if name is not None and name not in there:
        have = ", ".join(there) or "none"
        module.fail_json(msg=f"{name}: there is no such service on this host. Services here: {have}. Next: correct it")
    services = []
    for each in [name] if name is not None else there:
        try:
            services.append(history_of(Paths(each)))
        except (JournalError, OSError) as error:
            module.fail_json(msg=f"{each}: its history cannot be read: {error}. Next: vllm-host status {each}")
    module.exit_json(changed=False, services=services)


if __name__ == "__main__":
    main()
