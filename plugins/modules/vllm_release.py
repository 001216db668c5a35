#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Stage a release of a vLLM service, and begin and follow the runs that start, change, stop or remove it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_release
short_description: Stage a release of a vLLM service, and run every change of it
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - O(state=staged) writes the files of a release and touches nothing that runs.
  - The other states are reached by a run that the host drives by itself, in a transient systemd service, with every
    step in C(/var/lib/gpuhosts-vllm/<service>/journal.jsonl). This module opens the run and follows it. A lost
    connection or a dead controller changes nothing; the next call finds the run again.
  - A first start is committed only when the engine has proven that it serves, and again after the soak. One that fails
    is taken back. The unit is stopped, nothing is current, the evidence of the start stays.
  - A start brings back what was committed last. What runs another release than the inventory wants is left alone, and
    the module fails naming the next command.
  - An upgrade, a rollback or a rotation of secrets replaces what runs. It is committed when the new engine has proven
    that it serves, and again after the soak. An upgrade or a rotation that fails goes back to the last good release by
    itself, once; a rollback is never rolled back.
  - Staging is atomic. A run is reversible as long as it is not committed.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
  - gpuhosts.vllm.follow
attributes:
  check_mode:
    support: full
    details:
      - Predicts the run also where Docker, the image or the on-host tool are not there yet.
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  service:
    description: The name of the service.
    type: str
    required: true
  failure_seen:
    description:
      - With V(false) a call with O(follow) also ends as soon as a step has failed.
      - The action of the same name says so by itself, until it has shown a failure.
    type: bool
    default: true
  state:
    description: What to bring about.
    type: str
    choices: [staged, started, upgraded, rolled_back, rotated, confirmed, stopped, absent]
    required: true
  release:
    description:
      - The release, as RV(gpuhosts.vllm.vllm_services#module:services) has it, with its C(id) and its C(content).
      - Required for O(state=staged). For O(state=started) it says which release a first start starts, for
        O(state=upgraded) which one is wanted, for O(state=rolled_back) which earlier one to go back to.
      - Without it O(state=rolled_back) leads to the last good release, or to the one before it where that one runs.
    type: dict
  gate:
    description: The limits of a start and what must be true at its end. They are no part of the release's id.
    type: dict
    default: {}
  drain:
    description: How a stop lets requests end.
    type: dict
    default: {}
  image_id:
    description: The id of the image on this host. Required for O(state=staged), except in check mode.
    type: str
  platform_digest:
    description: The digest of the image of this host's platform, for the record.
    type: str
  device_request:
    description: How this host hands GPUs to containers.
    type: str
    choices: [cdi, gpus, none]
    default: none
  secret_names:
    description: The names of the service's secrets, for the record.
    type: list
    elements: str
    default: []
  retry:
    description: Whether to start a release again that failed on this host and was taken back.
    type: bool
    default: false
  accept_no_rollback:
    description: Whether to upgrade although there is no way back. What is missing is then told, and no error.
    type: bool
    default: false
  confirm_within:
    description:
      - How long an upgrade waits in its soak for O(state=confirmed) before it goes back, such as V(10m).
      - The task ends when it waits, with RV(awaits_confirm). Without this option nobody is waited for.
    type: str
  adopt:
    description:
      - For a first start, the server that it takes over, as RV(gpuhosts.vllm.vllm_adopt_info#module:services) has it.
        The host stops and disables it right before the start, keeps its container under another name, and starts it
        again when the start is taken back.
    type: dict
  by:
    description: Who began this, for the journal.
    type: str
    default: ""
  why:
    description: Why, for the journal.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Lay down the release of the chat service
  gpuhosts.vllm.vllm_release:
    service: chat
    state: staged
    release: "{{ chat.release }}"
    gate: "{{ chat.gate }}"
    image_id: "{{ chat_image.image_id }}"
    device_request: cdi

- name: Start it and wait until it serves
  gpuhosts.vllm.vllm_release:
    service: chat
    state: started
    release: "{{ chat.release }}"
    by: "{{ lookup('ansible.builtin.env', 'USER') }}"
    why: first deployment
"""

RETURN = r"""
release:
  description: The id of the release that this was about.
  type: str
  returned: when there is one
  sample: rel-0a1b2c3d4e5f
actions:
  description: What was done, or would be done in check mode.
  type: list
  elements: str
  returned: always
  sample: ["first start of chat (rel-0a1b2c3d4e5f)"]
finished:
  description: Whether the run has ended. The action of the same name follows it until it has.
  type: bool
  returned: always
  sample: true
follow:
  description: The id of the run, to give as O(follow).
  type: str
  returned: when there is a run
  sample: first_start-20261130T120000Z-0a1b2c
run:
  description: The run with who began it and each of its C(steps).
  type: dict
  returned: when there is a run
step_failed:
  description: Whether RV(progress) tells of a step that has failed.
  type: bool
  returned: when there is a run
  sample: false
awaits_confirm:
  description: Whether the run waits for O(state=confirmed).
  type: bool
  returned: when there is a run
result:
  description: How the run ended. V(committed), V(aborted), V(rolled_back) or V(rollback_failed); null while it has not.
  type: str
  returned: when there is a run
  sample: committed
progress:
  description: The lines of the run so far.
  type: list
  elements: str
  returned: when there is a run
summary:
  description: The run in one sentence.
  type: str
  returned: always
  sample: first start of chat (rel-0a1b2c3d4e5f) committed
next:
  description: What to type after a run that did not commit.
  type: str
  returned: when there is a run
start:
  description: The start of the run, with its number C(seq), its C(seconds) until it served, and its KV cache figures.
  type: dict
  returned: when there is a run
findings:
  description: What was judged on the way.
  type: list
  elements: dict
  returned: always
why:
  description: The diagnosis of a start that failed, in lines for people. What its log says, what to do, the runbook.
  type: list
  elements: str
  returned: when there is a run
run_as:
  description: The C(uid) and C(gid) that the container runs as.
  type: dict
  returned: when O(state=staged) and the image is on the host
"""

from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.asked import opened_with, told_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.confirming import confirm
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.deciding import (
    Wanted,
    decide_now,
    find_run,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.following import watch, watch_for_failure
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.staging import (
    Staged,
    make_host_record,
    stage,
    stage_unknown,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.containers import DockerError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import JournalError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import RecordError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.states import CHANGE, COMMITTED, ROLLED_BACK

SPEC: dict[str, Any] = {
    "service": {"type": "str", "required": True},
    "state": {
        "type": "str",
        "choices": ["staged", "started", "upgraded", "rolled_back", "rotated", "confirmed", "stopped", "absent"],
        "required": True,
    },
    "release": {"type": "dict"},
    "gate": {"type": "dict", "default": {}},
    "drain": {"type": "dict", "default": {}},
    "image_id": {"type": "str"},
    "platform_digest": {"type": "str"},
    "device_request": {"type": "str", "choices": ["cdi", "gpus", "none"], "default": "none"},
    "secret_names": {"type": "list", "elements": "str", "default": [], "no_log": False},
    "retry": {"type": "bool", "default": False},
    "accept_no_rollback": {"type": "bool", "default": False},
    "confirm_within": {"type": "str"},
    "adopt": {"type": "dict"},
    "by": {"type": "str", "default": ""},
    "why": {"type": "str", "default": ""},
    "follow": {"type": "str"},
    "failure_seen": {"type": "bool", "default": True},
    "wait": {"type": "float", "default": 15},
}


def staged(module: AnsibleModule, paths: Paths) -> dict[str, Any]:
    """Write the release folder, or say what would be written."""
    params, content = module.params, module.params["release"]["content"]
    run_as: dict[str, Any] = {}
    if params["image_id"] is None:
        if not module.check_mode:
            raise ToolError(f"{paths.service}: image_id is missing; pull the image with vllm_image first")
        done = stage_unknown(paths, params["release"]["id"], content)
    else:
        record = make_host_record(paths.service, content, params)
        if record.id != params["release"]["id"]:
            raise ToolError(
                f"{paths.service}: release.id is {params['release']['id']}, its content is that of {record.id}"
            )
        run_as = {"run_as": {"uid": record.host.uid, "gid": record.host.gid}}
        done = stage(paths, record, gate_text(params["gate"], params["drain"]), check=module.check_mode)
    return {**staged_result(done), **run_as}


def staged_result(done: Staged) -> dict[str, Any]:
    """Staging as the module returns it."""
    headers = {name: f"{done.release}/{name}" for name in done.after}
    return {
        "changed": done.changed,
        "release": done.release,
        "actions": done.actions,
        "finished": True,
        "findings": [finding.to_dict() for finding in done.findings],
        "summary": f"{done.release} is staged",
        "diff": [
            {"before": done.before[name], "after": text, "before_header": headers[name], "after_header": headers[name]}
            for name, text in done.after.items()
        ],
    }


def run_of(module: AnsibleModule, paths: Paths) -> dict[str, Any]:
    """Open the run that is needed, or find the one that is under way, and wait for it a while."""
    params = module.params
    if params["follow"]:
        wait_for = watch if params["failure_seen"] else watch_for_failure
        return wait_for(paths, params["follow"], params["wait"])
    if params["state"] == "confirmed":
        return confirmed(module, paths)
    release = (params["release"] or {}).get("id")
    wanted = Wanted(params["state"], release, params["retry"], params["by"], params["why"], opened_with(params))
    decision, ended = decide_now(paths, wanted, check=module.check_mode)
    told = told_of(paths, decision)
    if module.check_mode or not decision.changes:
        return told
    decision, run_id = find_run(paths, wanted, decision)
    done = watch(paths, run_id, params["wait"])
    said = [*ended, *([decision.reason] if decision.follow else [])]
    return {
        **told,
        **done,
        "findings": [*told["findings"], *done["findings"]],
        "progress": [*said, *done["progress"]],
    }


def confirmed(module: AnsibleModule, paths: Paths) -> dict[str, Any]:
    """Give the word for the run that waits for it, and follow that run to its end."""
    if module.check_mode:
        summary = f"{paths.service}: its run would be confirmed"
        return {"changed": True, "actions": ["confirm the run"], "finished": True, "findings": [], "summary": summary}
    return watch(paths, confirm(paths), module.params["wait"])


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=SPEC, supports_check_mode=True, required_if=[("state", "staged", ["release"])])
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    paths = Paths(module.params["service"])
    try:
        result = staged(module, paths) if module.params["state"] == "staged" else run_of(module, paths)
    except DockerError as error:
        module.fail_json(msg=f"{paths.service}: Docker does not answer: {error}; see systemctl status docker")
    except RecordError as error:
        module.fail_json(msg=f"{paths.service}: the release cannot be staged: {error}")
    except (ToolError, JournalError, OSError) as error:
        module.fail_json(msg=str(error) if isinstance(error, ToolError) else f"{paths.service}: {error}")
    # A change that was under way and was told to go back has done what was asked for.
    called_back = module.params["state"] == ROLLED_BACK and (result.get("run") or {}).get("kind") == CHANGE
    if result.get("result") not in (None, COMMITTED, *([ROLLED_BACK] if called_back else [])):
        look = f"Look at: vllm-host status {paths.service}; {result['next']}"
        lines = [f"{result['summary'].rstrip('.')}.", *(f"  {line}" for line in result["why"]), look]
        module.fail_json(msg=("\n" if result["why"] else " ").join(lines), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
