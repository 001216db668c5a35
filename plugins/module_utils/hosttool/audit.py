# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host audit``: what of a service, or of a file, does not hold for a vLLM release. Only looks.

Private to the collection.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..audit.errors import AuditError
from ..audit.judge import audit_config
from ..audit.of_release import subject_of_release
from ..audit.report import AuditReport
from ..audit.verdict import failing_at
from ..findings import ERROR, one_line
from ..io.subjects import MOST, Unreadable, read_subject_text
from .say import complain, say
from .service_args import current_record, readable_paths

STANDARD_INPUT = "-"
_USAGE = 2


def main(argv: Sequence[str]) -> int:
    """The verb; 0 when no finding is an error, 1 when one is, 2 for what cannot be audited."""
    args = _arguments(argv)
    try:
        report = _of_file(args) if args.file else _of_service(args)
    except (AuditError, Unreadable) as error:
        complain(f"vllm-host audit: {error}")
        return _USAGE
    say(json.dumps(report.to_dict(), indent=2, ensure_ascii=False) if args.json else _text(report))
    return 1 if failing_at(report.findings, ERROR) else 0


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    about = "say what of a service, or of a file, does not hold for a vLLM release; only reads"
    arguments = argparse.ArgumentParser(prog="vllm-host audit", description=about)
    arguments.add_argument("service", nargs="?", help="the name of the service: the release that it runs is audited")
    arguments.add_argument("--file", metavar="PATH", help="a compose file, unit, rule file ...; - is standard input")
    arguments.add_argument("--version", help="the release to audit for; of a service, the one to upgrade to")
    arguments.add_argument("--previous", help="the release that ran it before; of a service, the one it runs")
    arguments.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    args = arguments.parse_args(argv)
    if bool(args.service) == bool(args.file):
        arguments.error("name a service, or give --file PATH")
    if args.file and not args.version:
        arguments.error("--file needs --version: the vLLM release that will run it")
    return args


def _of_file(args: argparse.Namespace) -> AuditReport:
    if args.file == STANDARD_INPUT:
        text = sys.stdin.read(MOST + 1)
        if len(text) > MOST:
            raise Unreadable(f"standard input: larger than {MOST >> 20} MiB")
        return audit_config(text, args.version, args.previous, name="stdin")
    return audit_config(read_subject_text(Path(args.file)), args.version, args.previous, name=args.file)


def _of_service(args: argparse.Namespace) -> AuditReport:
    """The release that the service runs, as that release; or as another one that it might be upgraded to."""
    record = current_record(readable_paths(args.service))
    runs = str(record.content["version"])
    previous = args.previous or (runs if args.version else None)
    subject = subject_of_release(record.service, record.content, record.host.secret_names)
    return audit_config(subject, args.version or runs, previous)


def _text(report: AuditReport) -> str:
    data = report.to_dict()
    since = f", before {data['previous_version']}" if data.get("previous_version") else ""
    count = len(report.findings)
    head = f"{data['name']} for vLLM {data['version']}{since}: {count} finding{'' if count == 1 else 's'}"
    lines = [head, *(f"  {one_line(finding)}" for finding in report.findings)]
    proposal = report.migration or {}
    lines += [
        f"  proposal: {each['from']} -> {each['to'] or '(left out)'}: {each['why']}"
        for each in proposal.get("changes", [])
    ]
    lines += [f"  open: {text}" for text in proposal.get("open", [])]
    return "\n".join(lines)
