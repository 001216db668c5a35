# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host show``: the release that a service runs, one of its starts, or its journal, as JSON.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..io import starts
from ..io.diagnoses import diagnosis
from ..io.expected import NotHere
from ..io.files import read_if_there
from ..io.journals import read_journal
from ..io.start_log import LATEST, start_number
from ..release.files import GATE_NAME
from ..release.journal import JournalError, format_entry
from ..release.paths import Paths
from ..release.record import record_to_dict
from .errors import ToolError
from .say import say
from .service_args import current_record, parser, readable_paths

WHAT = ("release", "start", "journal")


def main(argv: Sequence[str]) -> int:
    """The verb."""
    arguments = parser("show", "show the release, a start or the journal of a service")
    arguments.add_argument("what", nargs="?", choices=WHAT, default="release")
    arguments.add_argument("--start", default=LATEST, help="the number of the start, or latest")
    args = arguments.parse_args(argv)
    paths = readable_paths(args.service)
    shown = (
        _start(paths, args.start)
        if args.what == "start"
        else {"release": _release, "journal": _journal}[args.what](paths)
    )
    say(json.dumps(shown, indent=2, ensure_ascii=False))
    return 0


def _release(paths: Paths) -> Any:
    record = current_record(paths)
    gate = read_if_there(paths.release(record.id) / GATE_NAME) or "{}"
    return {**record_to_dict(record), "gate": json.loads(gate)}


def _start(paths: Paths, start: str) -> Any:
    try:
        seq = start_number(paths, start)
    except NotHere as error:
        raise ToolError(str(error)) from error
    finding = diagnosis(paths, seq)
    why = {"diagnosis": finding.to_dict()} if finding else {}
    return {**starts.read(paths, seq), **why, "startup": starts.startup(paths, seq)}


def _journal(paths: Paths) -> Any:
    try:
        return [json.loads(format_entry(entry)) for entry in read_journal(paths).entries]
    except JournalError as error:
        raise ToolError(f"{paths.service}: {error}") from error
