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
from ..io.files import read_if_there
from ..release.paths import Paths
from .errors import ToolError
from .say import say
from .service_args import parser, readable_paths


def main(argv: Sequence[str]) -> int:
    """The verb."""
    arguments = parser("startup-log", "show what a start said: its figures, or with --log the log that was kept of it")
    arguments.add_argument("--start", default="latest", help="the number of the start, or latest")
    arguments.add_argument("--log", action="store_true", help="the kept log instead of the figures")
    args = arguments.parse_args(argv)
    paths = readable_paths(args.service)
    seq = _number(paths, args.start)
    if args.log:
        text = read_if_there(paths.start(seq) / "log")
        if text is None:
            raise ToolError(
                f"{args.service}: no log of start {seq} was kept yet; it is on its way: docker logs {paths.container}"
            )
        sys.stdout.write(text)
    else:
        say(json.dumps({"start": seq, **starts.startup(paths, seq)}, indent=2, ensure_ascii=False))
    return 0


def _number(paths: Paths, word: str) -> int:
    known = starts.numbers(paths)
    if not known:
        raise ToolError(f"{paths.service} was never started here")
    if word == "latest":
        return known[-1]
    if not word.isdigit() or int(word) not in known:
        raise ToolError(f"{paths.service} has no start {word}; kept are {known[0]} to {known[-1]}")
    return int(word)
