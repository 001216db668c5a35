# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host diagnose``: what is wrong with a service, in the order in which one debugs; and the evidence in one file.

Private to the collection.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from ..diagnose.text import render_text
from ..findings import failing, finding_from_dict
from ..io.bundle import write_bytes_atomic
from ..io.clock import CLOCK
from ..io.evidence.gather import diagnose_service
from .errors import ToolError
from .say import complain, say
from .service_args import parser, readable_paths

STANDARD_OUTPUT = "-"


def main(argv: Sequence[str]) -> int:
    """The verb; 0 when no finding is an error, else 1."""
    arguments = parser("diagnose", "say what is wrong with a service, in the order in which one debugs; only reads")
    arguments.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    arguments.add_argument("--bundle", metavar="PATH", help="write the evidence as tar.gz; - is standard output")
    args = arguments.parse_args(argv)
    found = diagnose_service(readable_paths(args.service), CLOCK.now(), with_bundle=args.bundle is not None)
    text = json.dumps(found.report, indent=2, ensure_ascii=False) if args.json else render_text(found.report).rstrip()
    if args.bundle == STANDARD_OUTPUT:
        sys.stdout.buffer.write(found.bundle)
        complain(text)
    else:
        say(text)
        if args.bundle:
            _write(Path(args.bundle), found.bundle)
    return 1 if failing(finding_from_dict(data) for data in found.report["findings"]) else 0


def _write(path: Path, data: bytes) -> None:
    try:
        write_bytes_atomic(path, data)
    except OSError as error:
        where = f"{path} cannot be written: {error.strerror}"
        raise ToolError(f"--bundle: {where}. Expected: a file in a folder that is there and writable") from None
    complain(f"evidence: {path} ({len(data):,} bytes)")
