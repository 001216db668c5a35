#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Judge the vLLM services that the inventory gives a host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_services
short_description: Judge the vLLM services that the inventory gives a host
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Reads the definitions of all services of one host and says everything that is wrong with them at once, each with
    service, key, value, what is allowed, the nearest key that exists, and the next command.
  - Judges keys, types, ranges, values that YAML turned into something else, secrets in places where they would show,
    words for C(docker run) that repeat what the collection says itself, and ports and GPUs that two services of the
    host both want.
  - Audits each service against the vLLM release in its image, as M(gpuhosts.vllm.vllm_config_audit) does. Errors are
    problems, warnings are warnings, and all of it is in RV(notes).
  - Gives the services as the roles and the other modules of this collection take them. The id of a release is the
    same on every host, and known before any image is pulled.
  - Runs on the controller. The host is not asked, and need not be reachable.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  services:
    description:
      - Services by name. A name is lower case letters, digits, C(-) and C(_).
      - The keys of a service are in the README, and in C(inventories/example/group_vars/vllm_servers.yml).
    type: dict
    default: {}
  extra_services:
    description:
      - More services, or other keys for some of O(services), laid over O(services) as a host or a group says.
      - Maps are merged, lists are replaced.
    type: dict
    default: {}
  defaults:
    description:
      - Keys that every service has unless it says otherwise. Maps are merged, lists are replaced, and V(null) in a
        service takes a default away.
    type: dict
    default: {}
  secrets:
    description:
      - Secrets by service, each a map of environment variables and texts. Only the names leave this module.
      - A service whose definition holds the value of a secret is refused.
    type: dict
    default: {}
  registry:
    description: The image registry, as in O(gpuhosts.vllm.vllm_image#module:registry). Its keys and types are judged.
    type: dict
    default: {}
  hf_endpoint:
    description: Address that models are fetched from in place of the Hugging Face hub.
    type: str
  lock_file:
    description:
      - The file that says which digest each image tag means. A relative path starts at the inventory.
      - By default C(vllm.lock.yml) beside the inventory.
    type: path
  require_lock:
    description: Whether a service whose image is not locked is a problem. Services to be removed need no lock.
    type: bool
    default: true
  waivers:
    description:
      - Findings of the audit that do not hold for a service, each a map of C(id), C(service), C(reason), C(owner),
        C(until) (a day) and, where only some findings of that id are meant, C(subject), a part of theirs.
      - Such a finding stops nothing until that day has passed. What is expired or matches nothing is said.
    type: list
    elements: dict
    default: []
  audit_stops:
    description:
      - Whether an error of the audit is a problem like the others. If not, it is a note and a warning; for playbooks
        that start nothing.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Judge the services of this host
  gpuhosts.vllm.vllm_services:
    services: "{{ vllm_services }}"
    defaults: "{{ vllm_defaults | default({}) }}"
    secrets: "{{ vllm_secrets | default({}) }}"
  register: vllm_judged

- name: Show which release each service should run
  ansible.builtin.debug:
    msg: "{{ item.name }} {{ item.release.id }}"
  loop: "{{ vllm_judged.services }}"
  loop_control:
    label: "{{ item.name }}"
"""

RETURN = r"""
services:
  description: The services, sorted by name; also those that are to be removed.
  type: list
  elements: dict
  returned: success
  contains:
    name:
      description: The name of the service.
      type: str
    state:
      description: V(started), V(stopped) or V(absent).
      type: str
    image:
      description: The image by tag.
      type: str
    repository:
      description: The image without its tag.
      type: str
    tag:
      description: The tag.
      type: str
    pull:
      description: The image by the digest of its index; none when it is not locked.
      type: str
    index_digest:
      description: The digest of the index; none when it is not locked.
      type: str
    platforms:
      description: By platform the C(digest) of its image and its C(compressed_bytes).
      type: dict
    version:
      description: The vLLM release in the image.
      type: str
    model:
      description: The model, as C(kind) (V(path) or V(hub)), C(name) and C(revision).
      type: dict
    bind:
      description: The address that the server listens on.
      type: str
    port:
      description: The port that the server listens on.
      type: int
    gpus:
      description: V(all), V(none), a count, or a list of indices or UUIDs.
      type: raw
    shm_bytes:
      description: Size of C(/dev/shm) in bytes.
      type: int
    mounts:
      description: Paths of the host that the container sees, each with C(source), C(target) and C(read_only).
      type: list
      elements: dict
    user:
      description: The user that the container runs as; none for the image's own.
      type: str
    after:
      description: Systemd units that must be up first.
      type: list
      elements: str
    devices:
      description: Devices other than GPUs.
      type: list
      elements: str
    secret_names:
      description: Names of the service's secrets.
      type: list
      elements: str
    served_names:
      description: Names under which clients find the model.
      type: list
      elements: str
    runner:
      description: V(generate) or V(pooling), as far as the options say.
      type: str
    release:
      description: The release that should run, as C(id) and C(content); none when the image is not locked.
      type: dict
    gate:
      description: What a start must prove before it counts.
      type: dict
    drain:
      description: How the server is brought to a stop.
      type: dict
notes:
  description:
    - What the audit and the judgement found and what stops nothing, as findings. Those that are no information and not
      waived are warnings, too.
  type: list
  elements: dict
  returned: success
problems:
  description: What is wrong, worst first, each with C(host), C(service), C(key), C(value), C(allowed) and C(next).
  type: list
  elements: dict
  returned: failure
"""
