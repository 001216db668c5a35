#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Have the model of a vLLM service on the host, proven and ready to be served offline."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_model
short_description: Have the model of a vLLM service on the host
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - A model that is a path has to be there, and has to look like a model.
  - A model of a Hugging Face hub is fetched once, in the pinned revision, by the C(huggingface_hub) of the service's
    own image, in a container that is thrown away. Every file is proven by the hash that the hub names it by.
    What was proven is written down, so that the next run asks no network.
  - Before a download the room on the cache's file system is judged by the sizes that the hub tells.
  - The download runs on the host by itself, so a cut connection does not end it, and the next call finds it again.
  - Left out are copies of the weights for other programs, and old formats where the same weights are safetensors.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
  - gpuhosts.vllm.follow
attributes:
  check_mode:
    support: full
    details:
      - Predicts the download also where Docker is not installed yet or does not run.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  service:
    description: The service that the model is for. It is named in messages.
    type: str
    required: true
  model:
    description: The model.
    type: dict
    required: true
    suboptions:
      kind:
        description: A path on the host, or a repository of a hub.
        type: str
        choices: [path, hub]
        required: true
      name:
        description: The path, or the repository's name.
        type: str
        required: true
      revision:
        description: The commit of the repository.
        type: str
  image:
    description: The image whose C(huggingface_hub) fetches a model of a hub, which is the service's own.
    type: str
    required: true
  endpoint:
    description: URL of the hub.
    type: str
    default: https://huggingface.co
  token:
    description: A token for the hub. It reaches the container in a file of mode 0600 only.
    type: str
  cache:
    description: The folder for caches. The hub's files lie in its folder C(hf).
    type: path
    default: /var/cache/gpuhosts-vllm
  network:
    description: The network of the container that fetches.
    type: str
    default: host
  proxy:
    description: URL of the proxy through which the hub is reached. It may not hold a password.
    type: str
  no_proxy:
    description: Names that are reached without the proxy, with all names below them.
    type: list
    elements: str
    default: []
"""

EXAMPLES = r"""
- name: Have the model of the chat service
  gpuhosts.vllm.vllm_model:
    service: chat
    model:
      kind: hub
      name: Qwen/Qwen3-8B
      revision: 9c925d64d72725edaf899c6cb9c377fd0709d9c5
    image: vllm/vllm-openai@sha256:0b0e5a1c6f4d3e2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a0f9e8d7c6b5a49
"""

RETURN = r"""
folder:
  description: Where the model is on the host. None while it is not here.
  type: str
  returned: success
commit:
  description: The commit of the snapshot that was proven. None for a path.
  type: str
  returned: success
bytes:
  description: The size of the snapshot. None for a path.
  type: int
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

import json
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.engine import require_engine
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.room import Need, require_room
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import models as host_models
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.docker import engine_info
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import make_folder
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.jobs import Job, start, wait
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.registry import getter
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.system import disk_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.answers import Asked
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.container import (
    Fetch,
    Place,
    fetch_name,
    fetch_script,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.folder import require_path
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.hub import list_files
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.snapshot import Manifest, missing_bytes, needed_files
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.work import fetch_progress, fetch_request, fetched
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import (
    proxy_environment,
    registry_settings,
)


class Snapshot:
    """One snapshot, from nothing to files that are proven."""

    def __init__(self, params: dict[str, Any]) -> None:
        """Take the module's parameters."""
        self.params, self.cache = params, params["cache"]
        name, revision = params["model"]["name"], params["model"]["revision"] or "main"
        subject = f"{params['service']}: model {name}"
        self.asked = Asked(subject, params["endpoint"].rstrip("/"), name, revision, bool(params["token"]))
        self.job = Job(fetch_name(name, revision))

    def advance(self, check_mode: bool) -> dict[str, Any]:
        """Do one call's part of the work."""
        if self.params["follow"] is None and not self.job.running():
            known = host_models.proven(self.cache, self.asked.repository, self.asked.revision)
            if known:
                return self.result(known, changed=False)
            if check_mode:
                return self.result(None, changed=True)
            self.begin()
        if not wait(self.job, self.params["wait"]):
            return self.unfinished()
        return self.end()

    def begin(self) -> None:
        """Judge Docker, the hub's answer and the room, then let the host fetch."""
        require_engine(engine_info())
        way = registry_settings({"proxy": self.params["proxy"], "no_proxy": self.params["no_proxy"]})
        listing = list_files(self.asked, self.params["token"], getter(way))
        files = needed_files(listing.files)
        need = missing_bytes(files, host_models.cached_blobs(self.cache, self.asked.repository))
        hub = str(Path(self.cache) / "hf")
        make_folder(Path(hub))
        require_room(disk_of(hub), Need(self.asked.subject, "cache", need))
        request = fetch_request(self.asked, files, listing.commit)
        lay = {"in/request.json": (json.dumps(request), 0o644), "in/fetch.py": (host_models.program(), 0o644)}
        if self.params["token"]:
            lay["secret/token"] = (self.params["token"], 0o600)
        place = Place(str(self.job.folder), hub, self.params["network"])
        fetch = Fetch(self.job.name, self.params["image"], self.asked.endpoint, place, proxy_environment(way))
        begun = start(self.job, fetch_script(fetch), lay)
        if not begun.ok:
            fetched(self.asked, request, {}, begun.err)

    def unfinished(self) -> dict[str, Any]:
        """Say how far the download is."""
        request = host_models.read_object(self.job.folder / "in/request.json")
        proving = host_models.read_object(self.job.folder / "out/proving.json")
        line = fetch_progress(request, host_models.cached_blobs(self.cache, self.asked.repository), proving)
        progress = [f"{self.asked.subject}: {line}"]
        return {"changed": True, "finished": False, "follow": self.job.name, "progress": progress, "findings": []}

    def end(self) -> dict[str, Any]:
        """Write down what was proven, or say why it was not."""
        request = host_models.read_object(self.job.folder / "in/request.json")
        result, log = host_models.read_object(self.job.folder / "out/result.json"), self.job.log()
        self.job.forget()
        manifest = fetched(self.asked, request, result, log)
        host_models.keep(self.cache, manifest)
        return self.result(manifest, changed=True)

    def result(self, manifest: Manifest | None, changed: bool) -> dict[str, Any]:
        """Give the module's result for a snapshot that is here, or will be."""
        text = f"{self.asked.repository} at {self.asked.revision}\n"
        diff = {"before": "" if changed else text, "after": text}
        return {
            **{"changed": changed, "finished": True, "progress": [], "findings": [], "diff": diff},
            "folder": str(host_models.snapshot_path(self.cache, manifest)) if manifest else None,
            "commit": manifest.commit if manifest else None,
            "bytes": sum(each.size or 0 for each in manifest.files) if manifest else None,
        }


def look(params: dict[str, Any]) -> dict[str, Any]:
    """Judge a model that is a path."""
    name = params["model"]["name"]
    require_path(params["service"], name, host_models.look_at_path(name))
    done = {"changed": False, "finished": True, "progress": [], "findings": [], "diff": {"before": "", "after": ""}}
    # No result of ours is named `path`: Ansible looks there by itself, and takes a dollar sign in it for a variable.
    return {**done, "folder": name, "commit": None, "bytes": None}


def main() -> None:
    """Run the module."""
    model = {
        "kind": {"type": "str", "choices": ["path", "hub"], "required": True},
        "name": {"type": "str", "required": True},
        "revision": {"type": "str"},
    }
    spec = {
        "service": {"type": "str", "required": True},
        "model": {"type": "dict", "required": True, "options": model, "required_if": [("kind", "hub", ["revision"])]},
        "image": {"type": "str", "required": True},
        "endpoint": {"type": "str", "default": "https://huggingface.co"},
        "token": {"type": "str", "no_log": True},
        "cache": {"type": "path", "default": "/var/cache/gpuhosts-vllm"},
        "network": {"type": "str", "default": "host"},
        "proxy": {"type": "str"},
        "no_proxy": {"type": "list", "elements": "str", "default": []},
        "follow": {"type": "str"},
        "wait": {"type": "float", "default": 15},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    try:
        at_path = module.params["model"]["kind"] == "path"
        result = look(module.params) if at_path else Snapshot(module.params).advance(module.check_mode)
    except Refusal as stop:
        module.fail_json(msg=str(stop), findings=[stop.finding.to_dict()])
    module.exit_json(**result)


if __name__ == "__main__":
    main()
