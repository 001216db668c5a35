#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Install the program that runs vLLM services on a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_host_tool
short_description: Install the program that runs vLLM services on a host
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Builds C(vllm-host) on the controller from the collection's own code and installs it under its version and hash as
    C(/usr/local/lib/gpuhosts-vllm/vllm-host-<version>-<hash>.pyz). The same sources make the same bytes.
  - Beside it a compiled form is kept that is for the Python of this host only. It is made on the host, and the program
    works without it, only slower.
  - The new program checks itself on the host before the links C(/usr/local/bin/vllm-host) and
    C(/usr/local/bin/vllm-health) move to it.
  - Older programs stay, because a run that is under way uses the one that it began with.
  - Reversible by hand; the links can be pointed back to an older program.
  - The task takes no options. Those below are set by the action of the same name.
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
  name:
    description: The file name of the program. Set by the action.
    type: str
    required: true
  version:
    description: The version of the collection. Set by the action.
    type: str
    required: true
  digest:
    description: The SHA-256 of the program. Set by the action.
    type: str
    required: true
  source:
    description: Where the action has put the program on the host.
    type: path
"""

EXAMPLES = r"""
- name: Install the tool that runs services on the host
  gpuhosts.vllm.vllm_host_tool:
"""

RETURN = r"""
path:
  description: The program.
  type: str
  returned: always
  sample: /usr/local/lib/gpuhosts-vllm/vllm-host-0.1.0-0a1b2c3d4e5f.pyz
version:
  description: The version of the collection that it was built from.
  type: str
  returned: always
  sample: 0.1.0
needs_file:
  description: Whether the host does not have these bytes yet.
  type: bool
  returned: always
  sample: false
actions:
  description: What was done, or would be done in check mode.
  type: list
  elements: str
  returned: always
  sample: ["link /usr/local/bin/vllm-host"]
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import host_tool
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root

# What the program's first line names: units run it without Ansible.
PYTHON = "/usr/bin/python3"


def facts_of(params: dict[str, Any]) -> dict[str, Any]:
    """What is there, and what would have to be done."""
    path = host_tool.program_path(params["name"])
    links = host_tool.linked()
    needs_file = host_tool.digest_of(path) != params["digest"]
    actions = [f"install {path}"] if needs_file else []
    actions += [f"link /{link}" for link, target in links.items() if target != str(path)]
    before = "".join(f"/{link} -> {target}\n" for link, target in links.items() if target)
    after = "".join(f"/{link} -> {path}\n" for link in links)
    return {
        "changed": bool(actions),
        "path": str(path),
        "version": params["version"],
        "needs_file": needs_file,
        "actions": actions,
        "diff": {"before": before, "after": after},
    }


def install(module: AnsibleModule, facts: dict[str, Any]) -> None:
    """Install what is missing; the links move last, to a program that has checked itself."""
    params = module.params
    if facts["needs_file"]:
        if host_tool.digest_of(Path(params["source"])) != params["digest"]:
            module.fail_json(
                msg=f"{params['source']} is not the program that was built: it changed on its way; run again"
            )
        host_tool.install_program(Path(params["source"]), params["name"])
    host_tool.compile_program(params["name"], PYTHON)
    checked = host_tool.self_check(params["name"], PYTHON)
    if not checked.ok:
        module.fail_json(
            msg=f"{facts['path']} does not work with {PYTHON}, the links were not moved: {checked.err.strip()}. "
            f"It needs Python 3.9 or newer as {PYTHON}."
        )
    host_tool.move_links(params["name"])


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "name": {"type": "str", "required": True},
            "version": {"type": "str", "required": True},
            "digest": {"type": "str", "required": True},
            "source": {"type": "path"},
        },
        supports_check_mode=True,
    )
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    facts = facts_of(module.params)
    waits_for_file = facts["needs_file"] and not module.params["source"]
    try:
        if facts["changed"] and not module.check_mode and not waits_for_file:
            install(module, facts)
    except OSError as error:
        module.fail_json(msg=f"{facts['path']} could not be installed: {error}")
    module.exit_json(**facts)


if __name__ == "__main__":
    main()
