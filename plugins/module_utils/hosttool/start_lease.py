# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The host-wide lease of starts: one that could get the GPU of another waits until that one serves or has ended.

Who may begin is decided by one start at a time, under a lock that the kernel lets go of however its holder ends.
Private to the collection.
"""

from __future__ import annotations

from ..io import notify, starts, systemd
from ..io.clock import Clock
from ..io.commands import Runner
from ..io.files import append_line, lease
from ..io.observe import state_folders
from ..release.paths import Paths
from ..release.start_lease import LONGEST_WAIT, Claim, claim_of, counts, gpu_request, in_the_way
from ..services.gpus import NONE
from .errors import ToolError

_LOOK = 1.0
_TELL = 5.0
# Asked of systemd each time; more than one look and the slowest answers of systemd take.
_EXTENSION = 180.0
_ONE_THAT_DECIDES = "another service"


def take(paths: Paths, seq: int, *, runner: Runner, clock: Clock) -> None:
    """Wait until no start under way could get a GPU of this one, then let it begin; ToolError after two hours."""
    began, told, told_at = clock.monotonic(), "", 0.0
    while True:
        names = _begin(paths, seq, began, runner, clock)
        if not names:
            return
        waited = clock.monotonic() - began
        if waited >= LONGEST_WAIT:
            look = "look at it with systemctl status 'vllm-*'"
            raise ToolError(f"it waited {waited:.0f} s for the start of {names}, which has not ended; {look}")
        if names != told or clock.monotonic() - told_at >= _TELL:
            _tell(paths, seq, names, new=names != told)
            told, told_at = names, clock.monotonic()
        clock.sleep(_LOOK)


def _begin(paths: Paths, seq: int, since: float, runner: Runner, clock: Clock) -> str:
    """Write down that the start begins, or say whom it has to wait for."""
    with lease(paths.starts_lock, paths.service) as held:
        if not held:
            return _ONE_THAT_DECIDES
        others = _others(paths, seq, runner)
        if others:
            return ", ".join(str(claim) for claim in others)
        now = clock.monotonic()
        begun = {"begun_at": clock.now(), "begun_monotonic": now, "waited_seconds": round(now - since, 1)}
        starts.update(paths, seq, begun)
    return ""


def _others(paths: Paths, seq: int, runner: Runner) -> list[Claim]:
    """The starts of other services that hold a GPU which this one could get."""
    mine = starts.read(paths, seq)
    gpus = gpu_request(mine.get("gpus"))
    if gpus is None or gpus == NONE:
        return []
    services = [Paths(name, paths.root) for name in state_folders(paths.root) if name != paths.service]
    newest = [(each, latest) for each in services if (latest := starts.latest(each)) is not None]
    claims = [claim for each, latest in newest if (claim := claim_of(each.service, starts.read(each, latest)))]
    found = in_the_way(gpus, str(mine["boot"]["marker"]), claims)
    return [claim for claim in found if counts(claim, systemd.show(Paths(claim.service).unit, runner=runner))]


def _tell(paths: Paths, seq: int, names: str, *, new: bool) -> None:
    """Ask systemd for more time; tell who looks at the unit, the run or, later, at the start's evidence."""
    text = f"waiting for the start of {names}"
    notify.status(text, _EXTENSION)
    if new:
        starts.update(paths, seq, {"waited_for": names})
        if paths.open_run.exists():
            append_line(paths.progress, f"starting: {text}")
