# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host freeze``: forbid changes of a service until somebody allows them again.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence

from .freezing import freeze, frozen_by
from .say import say
from .service_args import parser, paths_of
from .who import who


def main(argv: Sequence[str]) -> int:
    """The verb."""
    arguments = parser("freeze", "forbid changes of a service until vllm-host unfreeze")
    arguments.add_argument("--why", default="", help="the reason, which others read; there has to be one")
    args = arguments.parse_args(argv)
    paths = paths_of(args.service)
    freeze(paths, who(), args.why)
    say(f"{paths.service}: frozen: {frozen_by(paths)}")
    return 0
