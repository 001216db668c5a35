# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Audit a service against the vLLM version that will run it."""

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_config
short_description: Audit a service, an alert rule or a dashboard against a vLLM version
version_added: 0.1.0
author: The gpuhosts.vllm founders (@gpuhosts)
description:
  - Says what of a command line, an environment, a container, a unit, an alert rule or a dashboard does not hold for a
    vLLM release, and what changed since another one. Knows the releases 0.7.3 to 0.33.0.
  - The same as M(gpuhosts.vllm.vllm_config_audit), on the controller.
positional: _input, version, previous_version
options:
  _input:
    description:
      - A map with any of C(args), C(env), C(command), C(image), C(host), C(host_bind), C(container), C(unit),
        C(alert_expr), C(log_regex), C(from_args), C(config_file).
      - Or a text; a C(vllm serve) line, a C(docker run) line, a compose file, a systemd unit, a Prometheus rule file or
        the JSON of a Grafana dashboard.
    type: raw
    required: true
  version:
    description: The vLLM release that will run it.
    type: str
    required: true
  previous_version:
    description: The vLLM release that ran it before; what changed between both is then said, too.
    type: str
seealso:
  - module: gpuhosts.vllm.vllm_config_audit
"""

EXAMPLES = r"""
- name: Say what an upgrade breaks
  ansible.builtin.debug:
    msg: "{{ item.severity }} {{ item.code }} {{ item.subject }}: {{ item.message }}"
  loop: "{{ ('vllm serve Qwen/Qwen3-8B --swap-space 4' | gpuhosts.vllm.audit_config('0.32.0', '0.11.0')).findings }}"
  loop_control:
    label: "{{ item.code }}"

- name: Refuse alert rules that name metrics which the next release does not export
  ansible.builtin.assert:
    that: vllm_rules.findings | selectattr('severity', 'equalto', 'error') | length == 0
    fail_msg: "{{ vllm_rules.findings | map(attribute='message') | join('; ') }}"
  vars:
    vllm_rules: "{{ lookup('ansible.builtin.file', 'vllm-alerts.yml') | gpuhosts.vllm.audit_config('0.32.0') }}"
"""

RETURN = r"""
_value:
  description:
    - C(findings), worst first; each has C(code) (and the same as C(id)), C(severity) (V(error), V(warning), V(info)),
      C(subject), C(message), and where it applies C(since), C(replacement), C(expected), C(observed), C(remedy),
      C(source).
    - C(name), C(kind), C(version), C(audited_as) (the newest release that is known, where C(version) is newer),
      C(previous_version), and C(migration), the proposal of a rewritten subject.
  type: dict
  sample: {"findings": [{"code": "FLAG_REMOVED", "severity": "error", "subject": "subject --swap-space"}]}
"""

from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.errors import AuditError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config as audit


def audit_config(subject: Any, version: Any, previous_version: Any = None) -> dict[str, Any]:
    """Audit a map or a text."""
    try:
        report = audit(subject, version, previous_version)
    except AuditError as error:
        raise AnsibleFilterError(f"gpuhosts.vllm.audit_config: {error}") from error
    return report.to_dict()


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Any]:
        """Give the filters by name."""
        return {"audit_config": audit_config}
