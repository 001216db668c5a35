# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What somebody did to a service past the playbooks and the unit, each with the command that undoes it.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .paths import Paths
from .service_state import ServiceState


@dataclass(frozen=True)
class ByHand:
    """One thing that was done by hand, and what to type on the host."""

    what: str
    undo: str

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.what}; on the host: {self.undo}"


def by_hand(state: ServiceState) -> list[ByHand]:
    """Everything of it that can be seen, what matters most first."""
    return [*_of_the_unit(state), *_of_the_containers(state)]


def _of_the_unit(state: ServiceState) -> Iterator[ByHand]:
    unit = Paths(state.name).unit
    if state.unit is not None and state.unit.load == "masked":
        yield ByHand("its unit is masked, so nothing can start it", f"systemctl unmask {unit}")
    elif state.installed and state.last_good and not state.comes_back:
        what = "its unit is disabled: after a boot or a restart of Docker it stays down"
        yield ByHand(what, f"systemctl enable {unit}")


def _of_the_containers(state: ServiceState) -> Iterator[ByHand]:
    name = Paths(state.name).container
    for each in state.container_states:
        if each.status == "paused":
            yield ByHand(f"its container {each.name} is paused, so it answers nothing", f"docker unpause {each.name}")
        if each.name != name:
            yield ByHand(f"its container was renamed to {each.name}", f"docker rename {each.name} {name}")
