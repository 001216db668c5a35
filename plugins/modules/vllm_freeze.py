#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Forbid changes of a vLLM service, or allow them again."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_freeze
short_description: Forbid changes of a vLLM service, or allow them again
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - A frozen service is left alone by every run until somebody allows changes again. It serves on, and what boots is
    what was committed. A run that is under way goes on.
  - The reason and who gave it are kept on the host, in C(/var/lib/gpuhosts-vllm/<service>/freeze).
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
  service:
    description: The name of the service.
    type: str
    required: true
  state:
    description: Whether changes are forbidden. One that is frozen already keeps its first reason.
    type: str
    choices: [frozen, free]
    required: true
  why:
    description: The reason, which others read. Required for O(state=frozen).
    type: str
    default: ""
  by:
    description: Who does it. The action of the same name says who sits at the controller.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Let nobody change chat while its audit lasts
  gpuhosts.vllm.vllm_freeze:
    service: chat
    state: frozen
    why: audit of the year
"""

RETURN = r"""
frozen:
  description: Why changes are forbidden now, by whom and since when; null when they are not, and in check mode.
  type: str
  returned: always
  sample: audit of the year (by ada@desk, 2026-12-01T07:00:00Z)
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.freezing import freeze, frozen_by, unfreeze
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "service": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["frozen", "free"], "required": True},
            "why": {"type": "str", "default": ""},
            "by": {"type": "str", "default": ""},
        },
        supports_check_mode=True,
    )
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    params, paths = module.params, Paths(module.params["service"])
    before = frozen_by(paths)
    try:
        if params["state"] == "frozen":
            changed = freeze(paths, params["by"], params["why"], check=module.check_mode)
        else:
            changed = unfreeze(paths, check=module.check_mode)
    except (ToolError, OSError) as error:
        module.fail_json(msg=str(error) if isinstance(error, ToolError) else f"{paths.service}: {error}")
    after = "frozen" if params["state"] == "frozen" else "free"
    diff = {"before": f"{'free' if before is None else 'frozen'}\n", "after": f"{after}\n"}
    module.exit_json(changed=changed, frozen=frozen_by(paths), diff=diff)


if __name__ == "__main__":
    main()
