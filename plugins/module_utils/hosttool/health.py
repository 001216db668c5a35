# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-health``: look at a vLLM server with GET requests only; nothing is written, nothing is changed.

Private to the collection.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TextIO
from urllib.parse import urlsplit

from ..health.judge import CHECKS
from ..health.report import HealthReport, not_checked, render_json, render_text
from ..io.serving import check_health

_DEFAULT_URL = "http://127.0.0.1:8000"
_GRACE_SECONDS = 0.25
_LONGEST = 3600.0
_EPILOG = """\
exit status: 0 all checks passed, 1 an issue or no server, 2 wrong usage, 124 the time ran out.
The API key of the server, if it has one, is taken from the environment (VLLM_API_KEY), never from the command line.
"""


def main(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    out: TextIO | None = None,
) -> int:
    """Run the command line of ``vllm-health`` and give its exit status."""
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as end:  # argparse has written the usage or the help
        return int(end.code or 0)
    report = _bounded(options, (os.environ if env is None else env).get("VLLM_API_KEY"))
    text = render_json(report) + "\n" if options.json else render_text(report)
    with contextlib.suppress(BrokenPipeError):
        (out or sys.stdout).write(text)
    return report.exit_code


def _bounded(options: argparse.Namespace, api_key: str | None) -> HealthReport:
    """Run the checks beside this thread: even a resolver that hangs cannot hold the command longer than its limit."""
    checks = tuple(dict.fromkeys(options.check or CHECKS))
    done: list[HealthReport] = []
    worker = threading.Thread(
        target=lambda: done.append(check_health(options.url, checks, timeout=options.timeout, api_key=api_key)),
        daemon=True,
    )
    worker.start()
    worker.join(options.timeout + _GRACE_SECONDS)
    if done:
        return done[0]
    judged = tuple(not_checked(check, options.url, options.timeout) for check in checks)
    return HealthReport(options.url, judged, options.timeout, timed_out=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="vllm-health",
        description="Look at a vLLM server. Makes GET requests only and writes nothing.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--url", type=_url, default=_DEFAULT_URL, help="address of the server (%(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object of at most 16 KiB")
    parser.add_argument(
        "--check", action="append", choices=CHECKS, help="make only this check; can be given more than once"
    )
    parser.add_argument(
        "--timeout", type=_seconds, default=10.0, help="seconds for the whole run, all checks together (%(default)g)"
    )
    return parser


def _url(text: str) -> str:
    parts = urlsplit(text)
    try:
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        port_is_one = False
    if parts.scheme not in ("http", "https") or not parts.hostname or not port_is_one:
        raise argparse.ArgumentTypeError("expected http://HOST[:PORT] or https://HOST[:PORT]")
    if parts.username is not None:
        raise argparse.ArgumentTypeError("no user and password in the URL: a command line is public")
    return text.rstrip("/")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _LONGEST:
        raise argparse.ArgumentTypeError(f"expected seconds, more than 0 and at most {_LONGEST:g}")
    return seconds
