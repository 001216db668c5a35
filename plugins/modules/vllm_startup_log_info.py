#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Read what a start of a vLLM service said."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_startup_log_info
short_description: Read what a start of a vLLM service said
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Returns the figures and the log of one start of a service on this host, also of one that failed.
  - The log is the one that was kept of the start, without secrets; of a start that is under way it is what its
    container has said so far.
  - Judges the start and names the root cause of a failure. Each diagnosis has a page in C(docs/runbooks/diagnoses).
  - Reads the log line by line, in the form of the vLLM releases 0.4 to 0.33.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  service:
    description: The service on this host.
    type: str
    required: true
  start:
    description: The number of the start, or V(latest).
    type: str
    default: latest
  max_lines:
    description:
      - How many lines of the log to return, from its end; V(0) returns none.
      - The figures are always read from the whole log.
    type: int
    default: 200
seealso:
  - module: gpuhosts.vllm.vllm_verify
"""

EXAMPLES = r"""
- name: See what the last start of chat said
  gpuhosts.vllm.vllm_startup_log_info:
    service: chat
  register: chat_start

- name: Show how much fits
  ansible.builtin.debug:
    msg: "{{ chat_start.startup.kv_cache_tokens_usable }} tokens"
"""

RETURN = r"""
start:
  description: What is known of the start, its number (C(seq)), release, ids, how it ended.
  type: dict
  returned: always
startup:
  description:
    - What the log says. Lists hold each value once, in order of appearance, because ranks can differ.
    - A fact that was not printed is null or an empty list.
  type: dict
  returned: always
  contains:
    vllm_version:
      description: The version of the engine.
      type: str
      returned: always
    engine:
      description: The generation of the engine, V(V0) or V(V1).
      type: str
      returned: always
    model:
      description: The model, as the engine or its options name it.
      type: str
      returned: always
    state:
      description:
        - The verdict on the last start in the log. V(ready) serves; V(starting) shows no verdict yet; V(failed) ended
          before it was ready; V(crashed) was ready and died of an error; V(stopped) was ready and was shut down in
          order; V(serving_error) is up, but fails every request of a kind.
      type: str
      returned: always
    diagnosis:
      description:
        - What it died of, V(none) when nothing is wrong. C(docs/runbooks/diagnoses.md) lists all values.
      type: str
      returned: always
    evidence:
      description: The lines that prove it, the first causal one first, without secrets, five at most.
      type: list
      elements: str
      returned: always
    remedy:
      description: What to change, with the figures of this log.
      type: str
      returned: always
    details:
      description: The culprits and figures that the text names, C(port), C(argument), C(needed_gib) for example.
      type: dict
      returned: always
    earlier_starts:
      description: C(state) and C(diagnosis) of earlier starts in the same log.
      type: list
      elements: dict
      returned: always
    truncated:
      description: Whether the log begins or ends in the middle of the last start.
      type: bool
      returned: always
    kv_cache_tokens:
      description: The tokens of the KV cache.
      type: list
      elements: int
      returned: always
    kv_cache_tokens_usable:
      description: The smallest of them.
      type: int
      returned: always
    max_concurrency:
      description: Pairs of the tokens of a request and how many such requests fit at once.
      type: list
      elements: list
      returned: always
    kv_cache_available_gib:
      description: The memory for the KV cache.
      type: list
      elements: float
      returned: always
    model_memory_gib:
      description: The memory of the model.
      type: list
      elements: float
      returned: always
    model_load_seconds:
      description: How long the model took to load.
      type: list
      elements: float
      returned: always
    weights_load_seconds:
      description: How long the weights took to read.
      type: list
      elements: float
      returned: always
    gpu_blocks:
      description: The blocks of the KV cache as an old engine prints them, the device, its blocks, those on the CPU.
      type: list
      elements: list
      returned: always
    compile_seconds:
      description: How long torch.compile took.
      type: list
      elements: float
      returned: always
    engine_init_seconds:
      description: Pairs of the seconds that the engine took to initialise and the seconds of compilation, or null.
      type: list
      elements: list
      returned: always
    graph_capture:
      description: Pairs of the seconds that capturing graphs took and the GiB that they use, or null.
      type: list
      elements: list
      returned: always
    non_default_args:
      description: The options that the engine took, as it printed them; keys and tokens are left out.
      type: dict
      returned: always
    startup_complete:
      description: Whether the server said that its start-up is complete.
      type: bool
      returned: always
    first_error_line:
      description: The first line that names the error, without secrets.
      type: str
      returned: always
log:
  description: The last lines of the log.
  type: list
  elements: str
  returned: always
log_lines:
  description: How many lines the log has.
  type: int
  returned: always
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.expected import NotHere, paths_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.start_log import read_start


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "service": {"type": "str", "required": True},
            "start": {"type": "str", "default": "latest"},
            "max_lines": {"type": "int", "default": 200},
        },
        supports_check_mode=True,
    )
    try:
        found = read_start(
            paths_of(module.params["service"]), module.params["start"], max(0, module.params["max_lines"])
        )
    except (NotHere, OSError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(
        changed=False,
        start=found.known,
        startup=found.report.to_dict(),
        log=list(found.log),
        log_lines=found.log_lines,
    )


if __name__ == "__main__":
    main()
