#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Merge keys into Docker's configuration, and never restart Docker under a running service."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_docker_daemon
short_description: Merge keys into Docker's configuration
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Merges keys into C(daemon.json). Maps are merged, lists get what they lack, and what others have set stays.
  - What was there is kept beside it, and Docker judges the new file before it is written, where this Docker can.
  - What Docker reads while it runs is used at once. Docker is restarted only where nothing runs and no vLLM service is
    installed, or with O(allow_restart=true), and never while a container of a vLLM service runs.
  - What waits for a restart is in RV(restart_pending), in this run and in every later one until Docker was restarted.
  - Docker need not be installed yet.
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
  keys:
    description: What C(daemon.json) shall hold.
    type: dict
    default: {}
  proxy:
    description:
      - URL of the proxy for Docker. It may not hold a password.
      - It is written to a drop-in of Docker's unit, because older Docker does not start with it in C(daemon.json).
    type: str
  no_proxy:
    description: Names that Docker reaches without the proxy.
    type: list
    elements: str
    default: []
  allow_restart:
    description: Whether Docker may be restarted although other containers run. A human said so for this host.
    type: bool
    default: false
  path:
    description: The file.
    type: path
    default: /etc/docker/daemon.json
"""

EXAMPLES = r"""
- name: Rotate the logs of containers
  gpuhosts.vllm.vllm_docker_daemon:
    keys:
      log-driver: json-file
      log-opts:
        max-size: 50m
        max-file: "3"
"""

RETURN = r"""
restart_pending:
  description: The keys that Docker uses only after a restart that this module did not do.
  type: list
  elements: str
  returned: success
pending_message:
  description: What to do about them, for people. Empty when nothing is pending.
  type: str
  returned: success
restarted:
  description: Whether Docker was restarted, or would be in check mode.
  type: bool
  returned: success
reloaded:
  description: Whether Docker was told to read its configuration again, or would be in check mode.
  type: bool
  returned: success
backup_file:
  description: Where the former file is kept.
  type: str
  returned: when it was replaced
findings:
  description: What is wrong, as findings.
  type: list
  elements: dict
  returned: always
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import WARNING, Finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host import daemon as judge
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal, refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import daemon as docker
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.system import read_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings

HOST_WORD = "vllm_restart_docker"


def plan(params: dict[str, Any], unit: docker.Unit) -> tuple[judge.Change, str | None]:
    """Judge what shall be written: the change of the file, and the drop-in when it changes."""
    path = params["path"]
    change = judge.plan_change(read_text(path), path, params["keys"])
    if change.before != change.after:
        judge.require_no_conflict(unit.command, params["keys"], path)
        said = docker.validate(change.after)
        if said:
            raise refusal("daemon_json", path, f"Docker refuses this configuration: {said}", "correct the keys")
    settings = registry_settings({"proxy": params["proxy"], "no_proxy": params["no_proxy"]})
    dropin = judge.proxy_dropin(settings.proxy, settings.no_proxy)
    return change, None if dropin == read_text(docker.DROPIN) else dropin


def configure(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Write what differs, then let Docker see as much of it as may be."""
    unit = docker.unit()
    change, dropin = plan(params, unit)
    late = (*change.restart, *(("proxy",) if dropin else ()))
    pending = tuple(dict.fromkeys((*docker.read_pending(unit.invocation), *late))) if unit.active else ()
    situation = docker.situation(unit.active)
    restart = bool(pending) and judge.may_restart(situation, params["allow_restart"])
    reload = unit.active and bool(change.reload) and not restart
    backup = None
    if not check_mode:
        backup = write(params["path"], change, dropin)
        if pending and not restart:
            docker.write_pending(pending, unit.invocation)
        require(docker.restart_docker() if restart else None, "restart")
        require(docker.reload_docker() if reload else None, "reload")
    left = () if restart else pending
    message = judge.pending_text(left, situation, HOST_WORD) if left else ""
    finding = Finding("docker_restart_pending", WARNING, "host Docker", message, observed=list(left))
    return {
        "changed": change.before != change.after or bool(dropin) or restart,
        "diff": {"before": change.before, "after": change.after + (dropin or "")},
        "restart_pending": list(left),
        "pending_message": message,
        "restarted": restart,
        "reloaded": reload,
        "findings": [finding.to_dict()] if left else [],
        **({"backup_file": backup} if backup else {}),
    }


def write(path: str, change: judge.Change, dropin: str | None) -> str | None:
    """Write what differs."""
    if dropin:
        docker.write_dropin(dropin)
    if change.before == change.after:
        return None
    return docker.write_configuration(path, change.after, time.strftime("%Y%m%dT%H%M%S"))


def require(done: Result | None, what: str) -> None:
    """Stop when Docker did not do it."""
    if done is not None and not done.ok:
        said = done.err.strip() or f"exit status {done.rc}"
        raise refusal("docker_unreachable", f"{what} of Docker", said, "on the host: journalctl -u docker -n 50")


def main() -> None:
    """Run the module."""
    spec = {
        "keys": {"type": "dict", "default": {}, "no_log": False},
        "proxy": {"type": "str"},
        "no_proxy": {"type": "list", "elements": "str", "default": []},
        "allow_restart": {"type": "bool", "default": False},
        "path": {"type": "path", "default": "/etc/docker/daemon.json"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    try:
        result = configure(module.params, module.check_mode)
    except Refusal as stop:
        module.fail_json(msg=str(stop), findings=[stop.finding.to_dict()])
    module.exit_json(**result)


if __name__ == "__main__":
    main()
