#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Say which digests an image tag means."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_image_digest_info
short_description: Say which digests an image tag means
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Asks the registry what C(image:tag) means now, as this host sees the registry. Pulls nothing and needs no Docker.
  - The answer is the digest of the index, and for each platform the digest and the compressed size of its image.
  - A tag that is a single image and no index is answered with RV(index_digest=none) and a finding, because pinning it
    breaks hosts of another platform.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
  - gpuhosts.vllm.registry
options:
  image:
    description: The image with its tag or its digest.
    type: str
    required: true
"""

EXAMPLES = r"""
- name: See what the tag means today
  gpuhosts.vllm.vllm_image_digest_info:
    image: vllm/vllm-openai:v0.32.0
    registry:
      mirror: http://registry.example:5000
"""

RETURN = r"""
image:
  description: The image that was asked.
  type: str
  returned: success
repository:
  description: The image without its tag.
  type: str
  returned: success
tag:
  description: The tag, or none when a digest was asked.
  type: str
  returned: success
index_digest:
  description: The digest of the index, or none when the tag is a single image.
  type: str
  returned: success
manifest_digest:
  description: The digest of what the registry answered, index or single image.
  type: str
  returned: success
platforms:
  description: By platform (C(linux/amd64)) the C(digest) of the image and its C(compressed_bytes).
  type: dict
  returned: success
source:
  description: Who answered, the registry or its mirror.
  type: str
  returned: success
findings:
  description: What is wrong, as findings.
  type: list
  elements: dict
  returned: always
"""

from dataclasses import asdict
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal, refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.registry import getter
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.options import REGISTRY_OPTION
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.reference import parse_reference
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.resolve import judge_resolved, resolve
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings


def ask(params: dict[str, Any]) -> dict[str, Any]:
    """Ask the registry and give the module's result."""
    try:
        reference = parse_reference(params["image"])
    except ValueError as error:
        raise refusal(
            "image_name", f"image {params['image']}", str(error), "correct image: in the inventory"
        ) from error
    settings = registry_settings(params["registry"])
    resolved = resolve(reference, settings, getter(settings))
    return {
        "image": params["image"],
        "repository": reference.familiar,
        "tag": reference.tag,
        **asdict(resolved),
        "findings": [finding.to_dict() for finding in judge_resolved(reference, resolved)],
    }


def main() -> None:
    """Run the module."""
    spec = {"image": {"type": "str", "required": True}, "registry": REGISTRY_OPTION}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        result = ask(module.params)
    except Refusal as stop:
        module.fail_json(msg=str(stop), findings=[stop.finding.to_dict()])
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
