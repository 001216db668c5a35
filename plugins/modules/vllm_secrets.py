#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Write the secrets of a vLLM service where only its container reads them."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_secrets
short_description: Write the secrets of a vLLM service where only its container reads them
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Writes C(/etc/gpuhosts-vllm/<service>/secrets), mode 0600, owned by the user that the container runs as.
  - The file is mounted into the container read-only and read by its entry script. Secrets never become arguments,
    container environment options or part of a release, so neither C(docker inspect) nor the process list shows them.
  - A service without secrets has an empty file.
  - A running container keeps the file that it was started with; what is written here counts from its next start. Until
    it has ended, root keeps its values in C(secrets.before), so that they are taken out of its log too.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
    details:
      - The difference names the secrets that change and never shows a value.
  idempotent:
    support: full
options:
  service:
    description: The name of the service.
    type: str
    required: true
  secrets:
    description: Names of environment variables and their values.
    type: dict
    default: {}
  stage:
    description:
      - Whether to lay the values beside the present ones, for a run of M(gpuhosts.vllm.vllm_release) with the state
        C(rotated), which brings them in and proves that the earlier key is refused.
    type: bool
    default: false
  user:
    description:
      - The user that the container runs as, as C(uid) or C(uid:gid).
      - Root when it is not given.
    type: str
"""

EXAMPLES = r"""
- name: Give the chat service its key
  gpuhosts.vllm.vllm_secrets:
    service: chat
    secrets:
      VLLM_API_KEY: "{{ vault_chat_api_key }}"
"""

RETURN = r"""
path:
  description: The file.
  type: str
  returned: always
  sample: /etc/gpuhosts-vllm/chat/secrets
rotates:
  description: Whether the values are others than those that the service has.
  type: bool
  returned: always
  sample: true
actions:
  description: What changed, by name.
  type: list
  elements: str
  returned: always
  sample: ["HF_TOKEN added"]
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import earlier_secrets
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import ensure_file, read_if_there
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.secrets_file import (
    compare_secrets,
    parse_secrets,
    render_secrets,
)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "service": {"type": "str", "required": True},
            "secrets": {"type": "dict", "default": {}, "no_log": True},
            "stage": {"type": "bool", "default": False},
            "user": {"type": "str"},
        },
        supports_check_mode=True,
    )
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    wanted = {name: str(value) for name, value in module.params["secrets"].items()}
    paths = Paths(module.params["service"])
    stage = module.params["stage"]
    path = paths.next_secrets if stage else paths.secrets
    owner = int((module.params["user"] or "0").partition(":")[0])
    try:
        found = read_if_there(paths.secrets)
        before = parse_secrets(found or "")
        if before and before != wanted and not stage and not module.check_mode:
            earlier_secrets.keep(paths, render_secrets(before))
        changed = (not stage or before != wanted) and ensure_file(
            path, render_secrets(wanted), mode=0o600, owner=owner, folder_mode=0o700, check=module.check_mode
        )
    except (OSError, ValueError) as error:
        module.fail_json(
            msg=f"service {module.params['service']}: {path}: {error}. "
            "Look at the file; remove it when it was written by hand, then deploy again."
        )
    actions = compare_secrets(before, wanted)
    if changed and not actions:
        actions = ["file created, no secrets" if found is None else "owner or mode of the file put right"]
    lines = {"before": "", "after": "".join(f"{line}\n" for line in actions)}
    module.exit_json(
        changed=changed,
        path=str(path),
        rotates=before != wanted,
        actions=actions,
        diff={**lines, "after_header": str(path)},
    )


if __name__ == "__main__":
    main()
