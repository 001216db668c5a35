#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Prove that a vLLM service serves."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_verify
short_description: Prove that a vLLM service serves
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Judges the claims of a server that serves. Each claim is a finding, C(info) with its evidence when it holds and
    C(error) when it does not.
  - C(claim_alive), C(/health) answers 200.
  - C(claim_right_model), C(/v1/models) lists every served name.
  - C(claim_right_build), C(/version) is the version of the release; a local part such as C(+cpu) does not count.
  - C(claim_generates), a real completion of 8 tokens at temperature 0 (a chat where the model has no completions, an
    embedding with O(runner=pooling)) ends with a C(finish_reason), the first token within 60 seconds and all within
    120 seconds. It is asked again once, and only after a 503.
  - C(claim_fits), the log of the start tells the tokens of the KV cache and the maximum concurrency, and the tokens
    are not fewer than the floor of the service, or than 0.95 of an earlier start of the same release.
  - C(claim_is_the_new_one), what runs is the start that was recorded, in the one container of the service, which holds
    the port.
  - C(claim_way_back), the last good release is on the host with its image, its arguments and its model.
  - The last three need O(service). With O(url) only what HTTP can prove is judged.
  - A service without a release on this host is the one finding C(not_verifiable).
  - The real request costs a few tokens of a running server, in check mode too. Nothing is changed.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  service:
    description:
      - The service on this host. Address, version, names and limits are taken from the record of its current release,
        and the API key from its secrets file.
      - Give this or O(url).
    type: str
  url:
    description: The address of a server, without a path.
    type: str
  version:
    description: The version that the server must be. Used with O(url); without it the version is told, not judged.
    type: str
  served_names:
    description: The model names that the server must list. The first is asked for tokens. Used with O(url).
    type: list
    elements: str
    default: []
  runner:
    description: Whether the model generates text or is a pooling model. Used with O(url).
    type: str
    choices: [generate, pooling]
    default: generate
  api_key:
    description: The API key of the server. Used with O(url).
    type: str
  requests:
    description: How many real requests to make, one after another; all have to succeed.
    type: int
    default: 1
  fail_on:
    description: Whether the task fails when a claim does not hold.
    type: str
    choices: [error, never]
    default: error
seealso:
  - module: gpuhosts.vllm.vllm_health_info
  - module: gpuhosts.vllm.vllm_startup_log_info
"""

EXAMPLES = r"""
- name: Prove that chat serves
  gpuhosts.vllm.vllm_verify:
    service: chat

- name: Prove that a server somewhere else serves
  gpuhosts.vllm.vllm_verify:
    url: http://10.0.0.7:8000
    version: 0.32.0
    served_names: [chat]
    api_key: "{{ vault_chat_api_key }}"
"""

RETURN = r"""
passed:
  description: Whether every claim holds.
  type: bool
  returned: always
findings:
  description: One finding a claim, worst first, with C(id), C(severity), C(subject), C(message) and what was seen.
  type: list
  elements: dict
  returned: always
facts:
  description: The figures; one that is not known is left out.
  type: dict
  returned: always
  contains:
    url:
      description: The address that was asked.
      type: str
      returned: always
    runner:
      description: What kind of model was expected.
      type: str
      returned: always
    served_names:
      description: The names that were expected.
      type: list
      elements: str
      returned: always
    route:
      description: The route of the real request.
      type: str
      returned: when a request was made
    completion_tokens:
      description: The tokens that were generated.
      type: int
      returned: when a completion was asked for
    completion_text:
      description: The text, 200 characters at most.
      type: str
      returned: when a completion was asked for
    completion_seconds:
      description: How long the first request took.
      type: float
      returned: when a completion was asked for
    request_seconds:
      description: How long each of the O(requests) took, in order.
      type: list
      elements: float
      returned: when a request was made
    first_token_seconds:
      description: When its first token was there.
      type: float
      returned: when a token came
    finish_reason:
      description: How the completion ended.
      type: str
      returned: when the server told
    dimensions:
      description: The size of the embedding.
      type: int
      returned: when a vector came
    embedding_seconds:
      description: How long the embedding took.
      type: float
      returned: when an embedding was asked for
    start:
      description: The number of the start that serves.
      type: int
      returned: with O(service)
    start_seconds:
      description: How long that start took until it was ready.
      type: float
      returned: with O(service)
    vllm_version:
      description: The version that the start told in its log.
      type: str
      returned: with O(service)
    kv_cache_tokens:
      description: The tokens of the KV cache, the smallest of all ranks.
      type: int
      returned: with O(service), where the model has a KV cache
    max_concurrency:
      description: The tokens of a request of full length, and how many such requests fit at once.
      type: list
      elements: float
      returned: with O(service), where the model has a KV cache
    kv_cache_available_gib:
      description: The memory for the KV cache, the smallest of all ranks.
      type: float
      returned: with O(service), on a GPU
    model_memory_gib:
      description: The memory of the model, the largest of all ranks.
      type: float
      returned: with O(service), where the log tells it
    non_default_args:
      description: The options that the engine took, as it printed them; keys and tokens are left out.
      type: dict
      returned: with O(service)
"""

from dataclasses import replace
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import (
    ERROR,
    Finding,
    failing,
    finding_from_dict,
    one_line,
    worst_first,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.evidence import (
    Evidence,
    Expected,
    verification_facts,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.health.verify import judge_verification
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.expected import api_key_of, expected_of, paths_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.http import is_url
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.proof import gather_host_evidence
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.serving import gather_verification


def of_service(params: dict[str, Any]) -> tuple[Expected, Evidence]:
    """Verify a service of this host by its own record."""
    paths = paths_of(params["service"])
    expected = replace(expected_of(paths), warmup=params["requests"])
    evidence = gather_verification(expected, api_key=api_key_of(paths))
    return expected, replace(evidence, host=gather_host_evidence(paths))


def of_url(params: dict[str, Any]) -> tuple[Expected, Evidence]:
    """Verify a server by what the task expects of it."""
    url = params["url"].rstrip("/")
    if not is_url(url):
        raise ValueError("url: expected http://HOST[:PORT] or https://HOST[:PORT], without user and password")
    names = tuple(params["served_names"])
    expected = Expected(url, url, params["version"], names, params["runner"], warmup=params["requests"])
    return expected, gather_verification(expected, api_key=params["api_key"])


def verify(params: dict[str, Any]) -> dict[str, Any]:
    """Judge the claims and give the result of the task."""
    expected, evidence = (of_service if params["service"] else of_url)(params)
    findings = worst_first(judge_verification(expected, evidence))
    return {
        "passed": not failing(findings),
        "findings": [finding.to_dict() for finding in findings],
        "facts": verification_facts(expected, evidence),
    }


def not_there(params: dict[str, Any], message: str) -> Finding:
    """The finding of a service that cannot be asked, because nothing says what to expect of it."""
    return Finding("not_verifiable", ERROR, params["service"] or "url", message, source="verification")


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "service": {"type": "str"},
            "url": {"type": "str"},
            "version": {"type": "str"},
            "served_names": {"type": "list", "elements": "str", "default": []},
            "runner": {"type": "str", "choices": ["generate", "pooling"], "default": "generate"},
            "api_key": {"type": "str", "no_log": True},
            "requests": {"type": "int", "default": 1},
            "fail_on": {"type": "str", "choices": ["error", "never"], "default": "error"},
        },
        required_one_of=[("service", "url")],
        mutually_exclusive=[("service", "url")],
        supports_check_mode=True,
    )
    user = other_than_root() if module.params["service"] else None
    if user:
        module.fail_json(msg=ran_as_other(user), not_root=True)
    try:
        result = verify(module.params)
    except (ValueError, OSError) as error:
        result = {"passed": False, "findings": [not_there(module.params, str(error)).to_dict()], "facts": {}}
    errors = failing(finding_from_dict(finding) for finding in result["findings"])
    if errors and module.params["fail_on"] == "error":
        module.fail_json(msg="; ".join(one_line(finding) for finding in errors), **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
