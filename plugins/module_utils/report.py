# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One report of one playbook run over the fleet, and its text. Other renderings read the same object.

Private to the collection.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .diagnose.text import section_lines
from .findings import INFO, Finding, failing, finding_from_dict, one_line, worst_first
from .release.waves import changed_lines

_INDENT = "    "


@dataclass(frozen=True)
class ServiceReport:
    """What a run knows of one service on one host; ``plan``, ``facts``, ``diagnosis`` are plain data of modules.

    ``change`` is what an upgrade, a rollback or a rotation made of it.
    """

    host: str
    service: str
    image: str | None = None
    url: str | None = None
    needs_key: bool = False
    plan: Mapping[str, Any] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    diagnosis: Mapping[str, Any] = field(default_factory=dict)
    bundle: str | None = None
    change: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """One run of a playbook: services, hosts that never got to the end, what else was found, the way back."""

    title: str
    services: Sequence[ServiceReport] = ()
    lost_hosts: Sequence[str] = ()
    findings: Sequence[Finding] = ()
    way_back: str = ""

    @property
    def errors(self) -> list[Finding]:
        """Everything that makes the run fail, over all services."""
        return failing([*self.findings, *(finding for entry in self.services for finding in entry.findings)])

    @property
    def failed(self) -> bool:
        """Whether the run failed: an unwaived error, or a host without a result."""
        return bool(self.errors or self.lost_hosts)

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        return {**asdict(self), "failed": self.failed}


def differs_finding(host: str, plan: Mapping[str, Any]) -> Finding:
    """Judge a running service whose definition is no longer what the inventory says."""
    return Finding(
        id="definition_differs",
        severity="error",
        subject=f"{host} {plan['name']}",
        message="runs another release than the inventory asks for; it was left alone",
        expected=plan.get("wanted"),
        observed=plan.get("current"),
        remedy=plan.get("next"),
    )


def quarantined_finding(host: str, plan: Mapping[str, Any]) -> Finding:
    """Judge a service whose inventory wants what went back on its host: it stays visible until somebody decides."""
    return Finding(
        id="release_quarantined",
        severity="error",
        subject=f"{host} {plan['name']}",
        message=str(plan.get("reason")),
        expected=plan.get("wanted"),
        observed=plan.get("current"),
        remedy=plan.get("next"),
    )


def down_finding(host: str, plan: Mapping[str, Any]) -> Finding:
    """Judge a service that shall run and does not; nobody starts it again without a word."""
    return Finding(
        id="service_down",
        severity="error",
        subject=f"{host} {plan['name']}",
        message="does not run as the inventory asks; it was left alone",
        expected=plan.get("wanted"),
        observed=plan.get("reason"),
        remedy=plan.get("next"),
    )


def unproved_finding(host: str, plan: Mapping[str, Any]) -> Finding:
    """Say that a service was not proved, because a run is changing it."""
    return Finding(
        id="service_busy",
        severity="warning",
        subject=f"{host} {plan['name']}",
        message="was not proved: a run of it has not ended",
        observed=plan.get("reason"),
        remedy=plan.get("next"),
    )


def uncommitted_finding(host: str, service: str, change: Mapping[str, Any]) -> Finding:
    """Judge a change that did not end where a human wanted it; the block of the service says why."""
    return Finding(
        id="not_committed",
        severity="error",
        subject=f"{host} {service}",
        message=f"did not commit: {change['result'].replace('_', ' ')}",
        expected=change.get("after"),
        observed=change.get("before"),
    )


def by_hand_findings(host: str, plan: Mapping[str, Any]) -> list[Finding]:
    """Say what somebody did past the playbooks: nothing of it is undone without a word."""
    return [
        Finding(
            id="changed_by_hand",
            severity="warning",
            subject=f"{host} {plan['name']}",
            message=text.partition("; on the host: ")[0],
            remedy=text.partition("; ")[2],
        )
        for text in plan.get("by_hand", [])
    ]


# What a plan says of a service that nothing was proved of.
PLAN_FINDINGS = {
    "differs": differs_finding,
    "quarantined": quarantined_finding,
    "failed": down_finding,
    "busy": unproved_finding,
}


def render_text(report: Report) -> str:
    """Write the report for a person: the verdict, then what to do first, then one block a service."""
    lines = [verdict(report), ""]
    lines += [
        f"{_INDENT}LOST {host}: failed or unreachable before the report; see its error above"
        for host in report.lost_hosts
    ]
    lines += [_INDENT + one_line(finding) for finding in worst_first(report.findings)]
    for entry in report.services:
        lines += ["", *service_lines(entry)]
    lines += ["", "Take the hosts that committed back with:", f"{_INDENT}{report.way_back}"] if report.way_back else []
    return "\n".join(lines).rstrip() + "\n"


def verdict(report: Report) -> str:
    """Say in one sentence how the run ended."""
    hosts = len({entry.host for entry in report.services} | set(report.lost_hosts))
    scope = f"{report.title}: {_count(len(report.services), 'service')} on {_count(hosts, 'host')}"
    if not report.failed:
        return f"{scope}, no error."
    lost = f", {_count(len(report.lost_hosts), 'host')} lost" if report.lost_hosts else ""
    return f"{scope}, {_count(len(report.errors), 'error')}{lost}."


def service_lines(entry: ServiceReport) -> list[str]:
    """Write the block of one service."""
    head = "  ".join(word for word in (entry.host, entry.service, entry.image, entry.plan.get("wanted")) if word)
    lines = [head, *_plan_lines(entry.plan), *_figure_lines(entry.facts)]
    lines += [_INDENT + line for line in changed_lines(entry.change)] if entry.change else []
    if entry.diagnosis:  # its sections have the findings, in the order in which one debugs
        return [*lines, *section_lines(entry.diagnosis), *_bundle_lines(entry)]
    lines += [_INDENT + _finding_line(finding) for finding in worst_first(entry.findings)]
    if entry.url and entry.facts:
        lines += [f"{_INDENT}call it on {entry.host}:", f"{_INDENT}  {curl_line(entry)}"]
    return lines


def curl_line(entry: ServiceReport) -> str:
    """Give a command that gets an answer from the service, from its own host."""
    name = (entry.facts.get("served_names") or ["MODEL"])[0]
    path, ask = "completions", {"model": name, "prompt": "Hello", "max_tokens": 16}
    if entry.facts.get("runner") == "pooling":
        path, ask = "embeddings", {"model": name, "input": "Hello"}
    key = ' -H "Authorization: Bearer $VLLM_API_KEY"' if entry.needs_key else ""
    body = shlex.quote(json.dumps(ask))
    url = entry.facts.get("url") or entry.url  # where it answered: a service that differs runs where it ran
    return f'curl {url}/v1/{path}{key} -H "Content-Type: application/json" -d {body}'


def _plan_lines(plan: Mapping[str, Any]) -> list[str]:
    if not plan:
        return []
    downtime = plan.get("downtime_seconds")
    cost = "no downtime" if not downtime else f"expected downtime {downtime:.0f} s"
    lines = [f"{_INDENT}{plan['action'].replace('_', ' ')}: {plan.get('reason') or 'nothing to do'} ({cost})"]
    lines += [
        f"{_INDENT}  {item['what']}: {item.get('before')!s} -> {item.get('after')!s}"
        for item in plan.get("differences", [])
    ]
    lines += [f"{_INDENT}upgrade: {one_line(finding_from_dict(data))}" for data in plan.get("upgrade", [])]
    lines += [f"{_INDENT}by hand: {text}" for text in plan.get("by_hand", [])]
    if plan.get("action") not in ("unchanged", "nothing"):
        lines += [f"{_INDENT}way back: {plan['way_back']}"] if plan.get("way_back") else []
        lines += [f"{_INDENT}next: {plan['next']}"] if plan.get("next") else []
    return lines


def _figure_lines(facts: Mapping[str, Any]) -> list[str]:
    figures = []
    if facts.get("kv_cache_tokens"):
        figures.append(f"KV cache {facts['kv_cache_tokens']:,} tokens")
    if facts.get("max_concurrency"):
        tokens, factor = facts["max_concurrency"]
        figures.append(f"{factor:,.2f} requests of {tokens:,} tokens at once")
    if facts.get("start_seconds"):
        figures.append(f"started in {facts['start_seconds']:.1f} s")
    if facts.get("completion_tokens"):
        figures.append(f"generated {facts['completion_tokens']} tokens in {facts['completion_seconds']:.2f} s")
    return [_INDENT + "; ".join(figures)] if figures else []


def _bundle_lines(entry: ServiceReport) -> list[str]:
    return ["", f"{_INDENT}evidence: {entry.bundle}"] if entry.bundle else []


def _finding_line(finding: Finding) -> str:
    return f"ok    {finding.message}" if finding.severity == INFO else one_line(finding)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
