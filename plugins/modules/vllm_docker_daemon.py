#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Merge keys into Docker's configuration, and never restart Docker under a running service."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_docker_daemon
short_description: Configure Docker, and never restart it under a running service
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Merges log rotation, registries and other keys into C(daemon.json). Maps are merged, lists get what they lack, and
    what others have set stays.
  - The proxy goes to a drop-in of Docker's unit, because older Docker does not start with it in C(daemon.json).
    An own CA goes to Docker's folder of certificates, where the next pull finds it. Logins are written nowhere.
  - What was there is kept beside it, and Docker judges the new file before it is written, where this Docker can.
  - What Docker reads while it runs is used at once. Docker is restarted only where nothing runs and no vLLM service is
    installed, or with O(allow_restart=true), and never while a container of a vLLM service runs.
  - What waits for a restart is in RV(restart_pending), in this run and in every later one until Docker was restarted.
  - Docker need not be installed yet.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.actiongroup_vllm
  - gpuhosts.vllm.registry
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: full
options:
  keys:
    description: More keys of C(daemon.json). They win over what the other options set.
    type: dict
    default: {}
  cdi:
    description: Whether containers shall get GPUs by the container device interface. Docker has it from version 25 on.
    type: bool
    default: false
  log_max_size:
    description: The size at which the log of a container is rotated.
    type: str
    default: 50m
  log_max_file:
    description: How many log files of a container are kept.
    type: int
    default: 3
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
    log_max_size: 100m
    keys:
      live-restore: true
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
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.rights import ran_as_other
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import daemon as docker
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.rights import other_than_root
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.system import read_text
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.options import REGISTRY_OPTION
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings

HOST_WORD = "vllm_restart_docker"


class Configuration:
    """What Docker's files shall hold, and what of it they do not hold yet."""

    def __init__(self, params: dict[str, Any]) -> None:
        """Judge what shall be written; nothing is written here."""
        self.path, self.unit = params["path"], docker.unit()
        settings = registry_settings(params["registry"])
        logs = judge.Logs(params["log_max_size"], params["log_max_file"])
        keys = judge.daemon_keys(settings, logs, params["cdi"], params["keys"])
        self.change = judge.plan_change(read_text(self.path), self.path, keys)
        if self.change.before != self.change.after:
            judge.require_no_conflict(self.unit.command, keys, self.path)
            said = docker.validate(self.change.after)
            if said:
                raise refusal(
                    "daemon_json", self.path, f"Docker refuses this configuration: {said}", "correct the keys"
                )
        self.files: dict[str, str] = {}
        self.wants(docker.DROPIN, judge.proxy_dropin(settings, read_text(docker.DROPIN)))
        server = judge.certificate_server(settings)
        if server:
            self.wants(docker.certificate_path(self.path, server), settings.ca_cert)
        late = (*self.change.restart, *(("proxy",) if docker.DROPIN in self.files else ()))
        known = docker.read_pending(self.unit.invocation)
        self.pending = tuple(dict.fromkeys((*known, *late))) if self.unit.active else ()

    def wants(self, path: str, text: str | None) -> None:
        """Note a file that differs."""
        if text and read_text(path) != text:
            self.files[path] = text

    @property
    def differs(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.files) or self.change.before != self.change.after

    def write(self) -> str | None:
        """Write what differs; the backup of daemon.json, if there is one."""
        for path, text in self.files.items():
            docker.write_new(path, text)
        if self.change.before == self.change.after:
            return None
        return docker.write_configuration(self.path, self.change.after, time.strftime("%Y%m%dT%H%M%S"))


def configure(params: dict[str, Any], check_mode: bool) -> dict[str, Any]:
    """Write what differs, then let Docker see as much of it as may be."""
    wanted, situation, backup = Configuration(params), docker.situation(), None
    restart = bool(wanted.pending) and judge.may_restart(situation, params["allow_restart"])
    reload = wanted.unit.active and bool(wanted.change.reload) and not restart
    left = () if restart else wanted.pending
    if not check_mode:
        backup = wanted.write()
        if left:
            docker.write_pending(left, wanted.unit.invocation)
        require(docker.restart_docker() if restart else None, "restart")
        require(docker.reload_docker() if reload else None, "reload")
    message = judge.pending_text(left, situation, HOST_WORD) if left else ""
    finding = Finding("docker_restart_pending", WARNING, "host Docker", message, observed=list(left))
    more = "".join(f"# {path}\n{text}" for path, text in wanted.files.items())
    return {
        "changed": wanted.differs or restart,
        "diff": {"before": wanted.change.before, "after": wanted.change.after + more},
        "restart_pending": list(left),
        "pending_message": message,
        "restarted": restart,
        "reloaded": reload,
        "findings": [finding.to_dict()] if left else [],
        **({"backup_file": backup} if backup else {}),
    }


def require(done: Result | None, what: str) -> None:
    """Stop when Docker did not do it."""
    if done is not None and not done.ok:
        said = done.err.strip() or f"exit status {done.rc}"
        raise refusal("docker_unreachable", f"{what} of Docker", said, "on the host: journalctl -u docker -n 50")


def main() -> None:
    """Run the module."""
    spec = {
        "keys": {"type": "dict", "default": {}, "no_log": False},
        "registry": REGISTRY_OPTION,
        "cdi": {"type": "bool", "default": False},
        "log_max_size": {"type": "str", "default": "50m"},
        "log_max_file": {"type": "int", "default": 3},
        "allow_restart": {"type": "bool", "default": False},
        "path": {"type": "path", "default": "/etc/docker/daemon.json"},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    if user := other_than_root():
        module.fail_json(msg=ran_as_other(user), not_root=True)
    try:
        result = configure(module.params, module.check_mode)
    except Refusal as stop:
        module.fail_json(msg=str(stop), findings=[stop.finding.to_dict()])
    if result["pending_message"]:
        module.warn(result["pending_message"])
    module.exit_json(**result)


if __name__ == "__main__":
    main()
