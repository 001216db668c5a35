# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""``vllm-host rollback``: back to a release that was good here, without controller, registry or hub.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..release.decide import ROLLED_BACK
from ..release.paths import Paths
from ..release.states import COMMITTED
from ..release.states import ROLLED_BACK as ENDED_ROLLED_BACK
from .deciding import Wanted, decide_now, find_run
from .errors import ToolError
from .following import watch
from .say import say
from .service_args import parser, paths_of
from .who import who

# A start can take long; whoever is tired of waiting may leave, the run goes on.
PATIENCE = 7200.0
_LOOK = 2.0


def main(argv: Sequence[str]) -> int:
    """The verb; 0 only when what was asked for serves."""
    arguments = parser("rollback", "go back to the last good release, or to one that is named")
    arguments.add_argument("--to", metavar="REL", help="a release that was committed on this host")
    arguments.add_argument("--why", default="", help="the reason, for the journal")
    args = arguments.parse_args(argv)
    paths = paths_of(args.service)
    wanted = Wanted(ROLLED_BACK, args.to, by=who(), why=args.why)
    decision, _ended = decide_now(paths, wanted, check=False)
    decision, run_id = find_run(paths, wanted, decision)
    say(f"{paths.service}: {decision.reason}")
    done = follow(paths, run_id)
    say(done["summary"] + (f"; {done['next']}" if done["next"] else ""))
    return 0 if done["result"] == (ENDED_ROLLED_BACK if decision.cancels else COMMITTED) else 1


def follow(paths: Paths, run_id: str) -> dict[str, Any]:
    """Print the lines of a run as they come, to its end; ToolError when it takes too long."""
    shown = 0
    for _look in range(int(PATIENCE / _LOOK)):
        done = watch(paths, run_id, _LOOK)
        for line in done["progress"][shown:]:
            say(f"  {line}")
        shown = len(done["progress"])
        if done["finished"]:
            return done
    raise ToolError(f"{paths.service}: {run_id} goes on; watch it: vllm-host status {paths.service}")
