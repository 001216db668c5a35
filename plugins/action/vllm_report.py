# Copyright (c) the gpuhosts.vllm authors
# GNU General Public License v3.0 or later, or Apache-2.0, as you choose (see LICENSE and
# https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later OR Apache-2.0
"""Print one report of a playbook run over the whole fleet."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.of_release import upgrade_findings
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding, finding_from_dict
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.states import COMMITTED
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.waves import UNTOUCHED, Changed, way_back_command
from ansible_collections.gpuhosts.vllm.plugins.module_utils.report import (
    PLAN_FINDINGS,
    Report,
    ServiceReport,
    by_hand_findings,
    render_text,
    uncommitted_finding,
)
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.changes import changes_of
from ansible_collections.gpuhosts.vllm.plugins.plugin_utils.names import names_of

display = Display()


def host_report(host: str, variables: Mapping[str, Any], show: list[str], only: list[str]) -> list[ServiceReport]:
    """Join what the plays registered for one host into one entry a service."""
    if "vllm_history" in variables:
        there = [ServiceReport(host=host, service=each["name"]) for each in variables["vllm_history"]["services"]]
        return with_changes(there, changes_of(variables))
    plans = {entry["name"]: entry for entry in variables["vllm_plan"]["plan"]}
    proofs = {
        result["item"]["name"]: result
        for result in variables.get("vllm_verified", {}).get("results", [])
        if "findings" in result
    }
    diagnosed = {
        result["item"]["name"]: result
        for result in variables.get("vllm_diagnosed", {}).get("results", [])
        if "diagnosis" in result
    }
    reports = [
        service_report(host, service, plans.get(service["name"], {}), proofs.get(service["name"], {}), show)
        for service in variables["vllm_judged"]["services"]
        if not only or service["name"] in only
    ]
    reports = [with_diagnosis(report, diagnosed.get(report.service)) for report in reports]
    return with_changes(reports, changes_of(variables)) if "change" in show else reports


def with_changes(reports: list[ServiceReport], changes: Mapping[str, Changed]) -> list[ServiceReport]:
    """Narrow the entries to what a human named, and give each what became of it; one that did not commit is an error.

    One that is untouched is not: what halted the waves has an error of its own.
    """
    return [with_change(report, changes[report.service]) for report in reports if report.service in changes]


def with_change(report: ServiceReport, change: Changed) -> ServiceReport:
    """Give the entry of a service what became of it."""
    data = change.to_dict()
    bad = not change.good and change.result != UNTOUCHED
    found = (uncommitted_finding(report.host, report.service, data),) if bad else ()
    return replace(report, change=data, findings=(*report.findings, *found))


def service_report(
    host: str, service: Mapping[str, Any], plan: Mapping[str, Any], proof: Mapping[str, Any], show: list[str]
) -> ServiceReport:
    """Make the entry of one service; one that differs, or is down, is an error of its own."""
    findings = [finding_from_dict(data) for data in proof.get("findings", [])]
    judge = PLAN_FINDINGS.get(plan.get("action", ""))
    if "verification" in show and judge:
        findings.append(judge(host, plan))
    if "verification" in show:
        findings += by_hand_findings(host, plan)
    return ServiceReport(
        host=host,
        service=service["name"],
        image=service["image"],
        url=service["gate"]["url"],
        needs_key="VLLM_API_KEY" in service["secret_names"],
        plan=with_upgrade(plan, service) if "plan" in show else {},
        findings=tuple(findings),
        facts=proof.get("facts", {}),
    )


def with_upgrade(plan: Mapping[str, Any], service: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a plan what the audit says between the version that runs and the one that is wanted."""
    running, wanted = plan.get("running"), (service.get("release") or {}).get("content")
    if not running or not wanted:
        return plan
    found = upgrade_findings(service["name"], running, wanted)
    return {**plan, "upgrade": [finding.to_dict() for finding in found]}


def with_diagnosis(report: ServiceReport, result: Mapping[str, Any] | None) -> ServiceReport:
    """Give the entry of a service what its diagnosis found."""
    if result is None:
        return report
    findings = tuple(finding_from_dict(data) for data in result["diagnosis"]["findings"])
    bundle = result.get("bundle") or None
    return replace(report, findings=(*report.findings, *findings), diagnosis=result["diagnosis"], bundle=bundle)


def left_findings(host: str, variables: Mapping[str, Any]) -> list[Finding]:
    """Name the services that are on a host but no longer in its inventory."""
    return [
        Finding(
            id="left_inventory",
            severity="warning",
            subject=f"{host} {name}",
            message="is on the host but no longer in the inventory",
            remedy=f"ansible-playbook gpuhosts.vllm.remove --limit {host} -e vllm_confirm={name}",
        )
        for name in variables["vllm_plan"].get("left_inventory", [])
    ]


def write_report(path: Path, data: Mapping[str, Any]) -> None:
    """Write the report as JSON for other programs."""
    try:
        path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        message = (
            f"vllm_report_file: {path} cannot be written: {getattr(error, 'strerror', None) or error}. Allowed: a file "
            "in a folder that is there. Next: correct it, then run gpuhosts.vllm.verify"
        )
        raise AnsibleActionFail(message) from None


class ActionModule(ActionBase):
    """The action; nothing leaves the controller."""

    _VALID_ARGS = frozenset(("title", "show", "only", "write_to"))
    _requires_connection = False

    def run(self, tmp: Any = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Gather every host of the play, print the text, say whether the run failed."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        report = self._gather(task_vars or {})
        display.display("\n" + render_text(report))
        data = json.loads(json.dumps(report.to_dict(), default=str))
        if self._task.args.get("write_to"):
            write_report(Path(str(self._task.args["write_to"])), data)
        if report.failed:  # a failed task prints all that it returns: people have read it, programs have the file
            message = f"{report.title} failed; the report above says what to do first"
            return {**result, "changed": False, "failed": True, "msg": message}
        return {**result, "changed": False, "report": data}

    def _gather(self, variables: Mapping[str, Any]) -> Report:
        show = self._task.args.get("show") or ["plan", "verification"]
        only = names_of(self._task.args.get("only"))
        services: list[ServiceReport] = []
        findings: list[Finding] = []
        alive = set(variables["ansible_play_hosts"])
        hosts = variables["ansible_play_hosts_all"]
        for host in (host for host in hosts if host in alive):
            services += host_report(host, variables["hostvars"][host], show, only)
            findings += (
                left_findings(host, variables["hostvars"][host]) if "vllm_plan" in variables["hostvars"][host] else []
            )
        lost = tuple(host for host in hosts if host not in alive)
        changed = [] if "vllm_history" in variables else [entry for entry in services if entry.change]
        done = [(entry.host, entry.service) for entry in changed if entry.change["result"] == COMMITTED]
        return Report(self._task.args["title"], tuple(services), lost, tuple(findings), way_back_command(done))
