# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host startup-log``: what a start said, as figures or as the log that was kept.

Private to the collection.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from ..io import starts
from ..io.expected import NotHere
from ..io.start_log import LATEST, log_lines, start_number
from .errors import ToolError
from .say import say
from .service_args import parser, readable_paths


def main(argv: Sequence[str]) -> int:
    """The verb."""
    arguments = parser("startup-log", "show what a start said: its figures, or with --log the log that was kept of it")
    arguments.add_argument("--start", default=LATEST, help="the number of the start, or latest")
    arguments.add_argument("--log", action="store_true", help="the kept log instead of the figures")
    args = arguments.parse_args(argv)
    paths = readable_paths(args.service)
    try:
        seq = start_number(paths, args.start)
        if args.log:
            sys.stdout.writelines(f"{line}\n" for line in log_lines(paths, seq))
            return 0
    except NotHere as error:
        raise ToolError(str(error)) from error
    say(json.dumps({"start": seq, **starts.startup(paths, seq)}, indent=2, ensure_ascii=False))
    return 0
