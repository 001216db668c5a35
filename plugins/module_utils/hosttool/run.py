# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host run``: drive the open run of a service. Started by systemd, or by a human after a driver died.

Private to the collection.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from ..io.files import lease
from ..io.journals import read_journal
from ..release.journal import last_run
from ..release.states import COMMITTED
from ..release.view import run_summary
from .driver import Driver, HostStops
from .errors import ToolError
from .say import complain, say
from .service_args import parser, paths_of

# As sysexits.h has it; the unit of a driver is begun again after it.
TEMPORARY_FAILURE = 75
_PAUSE = 5.0


def main(argv: Sequence[str]) -> int:
    """The verb; 0 when the run was committed or there was none to drive."""
    args = parser("run", "drive the open run of a service to its end").parse_args(argv)
    paths = paths_of(args.service)
    with lease(paths.lease, f"pid {os.getpid()}") as held:
        if not held:
            raise ToolError(f"{args.service}: its run is driven already; watch it: vllm-host status {args.service}")
        try:
            ended = Driver(paths).drive()
        except HostStops:
            complain(f"{paths.service}: the host goes down; the next boot ends the run")
            return 1
        except OSError as error:  # what cannot be journalled is not done: systemd begins again until it can
            complain(f"{paths.service}: the journal cannot be written, trying again: {error.strerror or error}")
            time.sleep(_PAUSE)
            return TEMPORARY_FAILURE
    if ended is None:
        say(f"{args.service}: no run is open")
        return 0
    say(run_summary(args.service, last_run(read_journal(paths).entries)))
    return 0 if ended == COMMITTED else 1
