# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host confirm``: give the word for a change that waits for it.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import confirming
from .say import say
from .service_args import parser, paths_of


def main(argv: Sequence[str]) -> int:
    """The verb."""
    paths = paths_of(parser("confirm", "give the word for a change that waits for it").parse_args(argv).service)
    run_id = confirming.confirm(paths)
    say(f"{paths.service}: {run_id} is confirmed; watch it: vllm-host status {paths.service}")
    return 0
