#!/usr/bin/python
# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Audit a configuration against the vLLM version that will run it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: vllm_config_audit
short_description: Audit a configuration against the vLLM version that will run it
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Says what of a configuration does not hold for a vLLM release; options, values, environment variables and metrics
    that were removed, are not there yet, or changed their meaning; and what is a known fault whatever the release.
  - Audits what this collection did not write, too; a compose file, a systemd unit, a C(docker run) line, a Prometheus
    rule file, a Grafana dashboard.
  - Knows the releases 0.7.3 to 0.33.0. A newer one is audited as the newest that is known, and a finding says so.
  - Only reads. Nothing is started, and no server is asked.
extends_documentation_fragment:
  - gpuhosts.vllm.attributes
  - gpuhosts.vllm.attributes.info
  - gpuhosts.vllm.attributes.actiongroup_vllm
options:
  subject:
    description:
      - A text (a C(vllm serve) line, a C(docker run) line, a compose file, a unit, a rule file, a dashboard), or a map.
      - A map has any of C(args), C(env), C(command), C(image), C(host), C(host_bind), C(container), C(unit),
        C(alert_expr), C(log_regex), C(from_args), C(config_file); what it does not have is not judged.
      - It is neither logged nor returned.
    type: raw
  path:
    description: A file on the host that has such a text, 4 MiB at most.
    type: path
  kind:
    description: What the text is; recognised by default.
    type: str
  version:
    description: The vLLM release that will run it, such as V(0.32.0). By default what the tag of its image says.
    type: str
  previous_version:
    description:
      - The release that ran it before. Then also defaults that changed between both are found, where the configuration
        leaves them to vLLM, and what the way back needs.
    type: str
  name:
    description: What the findings call it; by default its file or the name of its service.
    type: str
  fail_on:
    description: From which severity on findings let the task fail. They are returned then, too.
    type: str
    choices: [error, warning, never]
    default: error
seealso:
  - plugin: gpuhosts.vllm.audit_config
    plugin_type: filter
  - module: gpuhosts.vllm.vllm_services
"""

EXAMPLES = r"""
- name: Audit a compose file on the host before the image is upgraded
  gpuhosts.vllm.vllm_config_audit:
    path: /srv/chat/compose.yml
    version: 0.32.0
    previous_version: 0.17.0

- name: Audit a command line, and only look
  gpuhosts.vllm.vllm_config_audit:
    subject: vllm serve Qwen/Qwen3-8B --swap-space 4 --max-model-len 32k
    version: 0.32.0
    fail_on: never
  register: vllm_audit

- name: Audit the alert rules of Prometheus
  gpuhosts.vllm.vllm_config_audit:
    path: /etc/prometheus/rules/vllm.yml
    version: 0.32.0
    fail_on: warning

- name: Audit a Grafana dashboard that lies beside the playbook
  gpuhosts.vllm.vllm_config_audit:
    subject: "{{ lookup('ansible.builtin.file', 'vllm-dashboard.json', rstrip=false) | string }}"
    kind: grafana dashboard
    version: 0.32.0
    name: vllm-dashboard.json
"""

RETURN = r"""
findings:
  description:
    - What was found, worst first. Each has C(code) (and the same as C(id)), C(severity), C(subject), C(message), and
      where it applies C(expected), C(observed), C(since), C(replacement), C(remedy), C(source).
  type: list
  elements: dict
  returned: when it could be audited
name:
  description: What the findings call it.
  type: str
  returned: when it could be audited
kind:
  description: What it was taken for.
  type: str
  returned: when it could be audited
version:
  description: The release that it was audited for.
  type: str
  returned: when it could be audited
audited_as:
  description: The newest release that is known, where O(version) is newer; else the same.
  type: str
  returned: when it could be audited
previous_version:
  description: The release that ran it before.
  type: str
  returned: when it could be audited
migration:
  description: A proposal of what to write instead. Nothing is changed by it.
  type: dict
  returned: when there is one
"""

from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.verdict import FAIL_ON, failing_at, summary
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.subjects import Unreadable, read_subject_text


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "subject": {"type": "raw", "no_log": True},
            "path": {"type": "path"},
            "kind": {"type": "str"},
            "version": {"type": "str"},
            "previous_version": {"type": "str"},
            "name": {"type": "str"},
            "fail_on": {"type": "str", "choices": list(FAIL_ON), "default": "error"},
        },
        mutually_exclusive=[("subject", "path")],
        required_one_of=[("subject", "path")],
        supports_check_mode=True,
    )
    # no_log keeps the subject out of the host's log. Its words are not secrets, though, and findings are made of them.
    module.no_log_values.clear()
    subject: Any = module.params.pop("subject")
    params = module.params
    name = params["name"] or params["path"]
    try:
        text = subject if params["path"] is None else read_subject_text(Path(params["path"]))
        report = audit_config(text, params["version"], params["previous_version"], name=name, kind=params["kind"])
    except (AuditError, Unreadable) as error:
        module.fail_json(msg=str(error))
    result = report.to_dict()
    failing = failing_at(report.findings, params["fail_on"])
    if failing:
        module.fail_json(msg=summary(result["name"], result["version"], failing), **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
