#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Pull the pinned image of a vLLM service."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_image
short_description: Pull the pinned image of a vLLM service
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Pulls an image by the digest of its index and proves that Docker has exactly that. What is here is not pulled again,
    and no registry is asked.
  - The pull runs on the host by itself, so a cut connection does not end it, and the next call finds it again.
  - Before a pull the room on Docker's file system is judged. Nothing is ever removed.
  - A login is used from a private configuration folder that is removed when the pull ends.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
  - gpuhosts.vllm.registry
  - gpuhosts.vllm.follow
attributes:
  check_mode:
    support: full
    details:
      - Predicts the pull also where Docker is not installed yet or does not run.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  service:
    description: The service that the image is for. It is named in messages and in RV(image).
    type: str
    required: true
  pull:
    description: The image with the digest of its index, as C(repository@sha256:...).
    type: str
    required: true
  platforms:
    description: By platform the C(digest) of the index's image and its C(compressed_bytes), as the lock file has them.
    type: dict
    default: {}
  room_factor:
    description: How much room a pull takes on Docker's file system, in multiples of the compressed size.
    type: float
    default: 3.0
"""

EXAMPLES = r"""
- name: Have the image of the chat service
  gpuhosts.vllm.vllm_image:
    service: chat
    pull: vllm/vllm-openai@sha256:0b0e5a1c6f4d3e2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0f9e8d7c6b5a49
"""

RETURN = r"""
image:
  description: The C(name) of the service, and of its image the C(image_id) and the C(platform_digest).
  type: dict
  returned: success
image_id:
  description: What Docker calls the image on this host. None while it is not here.
  type: str
  returned: success
platform_digest:
  description: The digest of the image for this host's platform, none when O(platforms) does not have it.
  type: str
  returned: success
finished:
  description: Whether the work has ended.
  type: bool
  returned: success
follow:
  description: What to give as O(follow) to go on following.
  type: str
  returned: while the work goes on
progress:
  description: How far the work is, in lines for people.
  type: list
  elements: str
  returned: success
findings:
  description: What is wrong, as findings.
  type: list
  elements: dict
  returned: always
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.engine import require_engine
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Engine
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.room import Need, require_room
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.docker import engine_info, image_inspect, image_on_disk
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.jobs import Job, start, wait
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.registry import getter
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.system import disk_of, machine, tree_bytes
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.options import REGISTRY_OPTION
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.pull import (
    check_pulled,
    explain_pull,
    pull_name,
    pull_progress,
    pull_script,
    require_pull,
    second_opinion,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings


class Pull:
    """One pull, from nothing to an image that is proven to be the right one."""

    def __init__(self, params: dict[str, Any]) -> None:
        """Take the module's parameters."""
        self.params = params
        self.pull = params["pull"]
        require_pull(params["service"], self.pull)
        self.job = Job(pull_name(self.pull))
        self.settings = registry_settings(params["registry"])
        self.platform = params["platforms"].get(machine()) or {}

    def advance(self, check_mode: bool) -> dict[str, Any]:
        """Do one call's part of the work."""
        engine = engine_info()
        if self.params["follow"] is None and not self.job.running():
            found = image_inspect(self.pull) if engine.reachable else None
            if found:
                return self.result(found, changed=False)
            if check_mode:
                return self.predict(engine)
            self.begin(engine)
        if not wait(self.job, self.params["wait"]):
            return self.unfinished(engine)
        return self.end()

    def predict(self, engine: Engine) -> dict[str, Any]:
        """Say what would happen, also where Docker cannot be asked."""
        image_id = None if engine.reachable else image_on_disk(self.pull, engine.root)
        return self.result({"Id": image_id} if image_id else None, changed=image_id is None)

    def begin(self, engine: Engine) -> None:
        """Judge Docker and the room, then let the host pull."""
        require_engine(engine)
        compressed = self.platform.get("compressed_bytes")
        size = int(compressed * self.params["room_factor"]) if compressed else None
        require_room(disk_of(engine.root), Need(f"image {self.pull}", "docker", size))
        config = self.settings.docker_config()
        files = {"secret/config.json": (config, 0o600)} if config else {}
        script = pull_script(self.pull, str(self.job.secret) if config else None, str(Path.home()))
        begun = start(self.job, script, files)
        if not begun.ok:
            raise explain_pull(begun.err, self.pull, begun.rc)

    def unfinished(self, engine: Engine) -> dict[str, Any]:
        """Say how far the pull is."""
        flying = tree_bytes(f"{engine.root}/tmp", "GetImageBlob*")
        line = pull_progress(self.job.log(), flying, self.platform.get("compressed_bytes"))
        progress = [f"{self.params['service']}: pull of {self.pull.split('@')[0]}: {line}"]
        return {"changed": True, "finished": False, "follow": self.job.name, "progress": progress, "findings": []}

    def end(self) -> dict[str, Any]:
        """Prove what is here, or say why it is not."""
        log, status = self.job.log(), self.job.status()
        found = image_inspect(self.pull)
        self.job.forget()
        if found is None:
            first = explain_pull(log, self.pull, status)
            raise second_opinion(first, self.pull, self.settings, getter(self.settings, timeout=10.0))
        return self.result(found, changed=True)

    def result(self, found: dict[str, Any] | None, changed: bool) -> dict[str, Any]:
        """Give the module's result for an image that is here, or will be."""
        if found and "RepoDigests" in found:
            check_pulled(self.pull, found, machine())
        image_id, digest = (found or {}).get("Id"), self.platform.get("digest")
        image = {"name": self.params["service"], "image_id": image_id, "platform_digest": digest}
        diff = {"before": "" if changed else f"{self.pull}\n", "after": f"{self.pull}\n"}
        done = {"changed": changed, "finished": True, "progress": [], "findings": [], "diff": diff}
        return {**done, "image": image, "image_id": image_id, "platform_digest": digest}


def main() -> None:
    """Run the module."""
    spec = {
        "service": {"type": "str", "required": True},
        "pull": {"type": "str", "required": True},
        "platforms": {"type": "dict", "default": {}},
        "registry": REGISTRY_OPTION,
        "room_factor": {"type": "float", "default": 3.0},
        "follow": {"type": "str"},
        "wait": {"type": "float", "default": 15},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    try:
        result = Pull(module.params).advance(module.check_mode)
    except Refusal as stop:
        module.fail_json(msg=str(stop), findings=[stop.finding.to_dict()])
    module.exit_json(**result)


if __name__ == "__main__":
    main()
