# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host unfreeze``: allow changes of a service again.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence

from .freezing import unfreeze
from .say import say
from .service_args import parser, paths_of


def main(argv: Sequence[str]) -> int:
    """The verb."""
    paths = paths_of(parser("unfreeze", "allow changes of a service again").parse_args(argv).service)
    said = "changes are allowed again" if unfreeze(paths) else "it was not frozen"
    say(f"{paths.service}: {said}")
    return 0
