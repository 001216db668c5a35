# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which hand-made server a service of the inventory takes over, and what forbids it.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..host.ports import overlaps
from ..release.paths import Paths
from .naming import BEFORE
from .propose import Proposal


@dataclass(frozen=True)
class TakeOver:
    """One service with the server that it replaces: ``refused`` says why not."""

    service: str
    running: Mapping[str, Any] = field(default_factory=dict)
    refused: str | None = None
    says: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data; ``adopt`` is what the run on the host is opened with."""
        return {"name": self.service, "adopt": dict(self.running), "refused": self.refused, "says": list(self.says)}


def match(
    service: Mapping[str, Any],
    proposals: Sequence[Proposal],
    containers: Collection[str],
    units: Collection[str],
    accepted: Collection[str] = (),
) -> TakeOver:
    """The server on the address and port of the service; a name alone is no match."""
    name, port, bind = str(service["name"]), service.get("port"), str(service.get("bind") or "127.0.0.1")
    found = [each for each in proposals if each.running["port"] == port and overlaps(each.running["address"], bind)]
    found = found or [each for each in proposals if each.name == name and each.running["port"] == port]
    if len(found) != 1:
        have = ", ".join(f"{each.running['container']} on port {each.running['port']}" for each in proposals) or "none"
        return TakeOver(name, refused=f"no server that is not ours listens on {bind}:{port}. Servers here: {have}")
    running = found[0].running
    why = _forbids(name, running, containers, units, accepted)
    return TakeOver(name, running, why, () if why else tuple(sayings(name, running)))


def _forbids(
    name: str,
    running: Mapping[str, Any],
    containers: Collection[str],
    units: Collection[str],
    accepted: Collection[str],
) -> str | None:
    paths, container = Paths(name), running["container"]
    if running["shared_with"]:
        others = ", ".join(running["shared_with"])
        return f"the unit {running['unit']} starts {others} as well; give {container} a unit of its own first"
    if paths.unit in units:
        return f"{paths.unit} is a unit that is not ours; give the service another name"
    if paths.container in containers:
        return f"a container has the name {paths.container} already; give the service another name"
    if container + BEFORE in containers:
        return f"{container}{BEFORE} is left of an earlier adoption; remove it: docker rm {container}{BEFORE}"
    if running["auto_remove"] and not running["unit"] and name not in accepted:
        door = f"-e vllm_accept_no_rollback={name}"
        return f"{container} was started with --rm: stopped, it is gone, and there is no way back; go on with {door}"
    return None


def sayings(name: str, running: Mapping[str, Any]) -> list[str]:
    """What is about to happen, for the people who said so."""
    container, unit = running["container"], running["unit"]
    seconds = running["start_seconds"]
    takes = f"its last start took {seconds:.0f} s" if seconds else "as long as a start takes"
    stops = f"the unit {unit} is disabled and stopped" if unit else f"{container} is stopped and not restarted any more"
    back = f"the unit {unit} as it was" if unit else f"the container {container}, kept as {container}{BEFORE}"
    if running["auto_remove"] and not unit:
        back = "none, as was accepted"
    return [
        f"{name} takes over {container} with a restart: one supervisor only can own a container",
        f"image, model, unit, secrets and release are there before; then {stops}, and {Paths(name).unit} starts",
        f"expected interruption: the stop ({running['grace']} s at most) and one start ({takes})",
        f"way back: {back}",
    ]
