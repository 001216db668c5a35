# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which systemd unit starts a container: by the words of its start, by its compose project, or by its client process.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from .seen import COMPOSE_FILES, COMPOSE_FOLDER, Seen, UnitSeen

PROPERTIES = ("Id", "LoadState", "UnitFileState", "ActiveState", "WorkingDirectory", "ExecStart")
_ARGV = re.compile(r"argv\[\]=(.*?) ; ")
_UNIT = re.compile(r"/([A-Za-z0-9:_.\\@-]+\.service)(?:/|$)", re.M)
_OURS = "/var/lib/gpuhosts-vllm/"
_ENGINES = ("containerd.service", "docker.service")


@dataclass(frozen=True)
class Unit:
    """One unit with the words of its starts; words may be secret and leave this host with nothing."""

    name: str
    enabled: bool
    active: bool
    folder: str
    words: tuple[str, ...]

    @property
    def is_ours(self) -> bool:
        """Whether this collection wrote it."""
        return any(word.startswith(_OURS) for word in self.words)


def parse_units(text: str) -> tuple[Unit, ...]:
    """Read the blocks of ``systemctl show``."""
    return tuple(unit for block in text.split("\n\n") if (unit := _unit(block)) is not None)


def _unit(block: str) -> Unit | None:
    pairs: dict[str, list[str]] = {}
    for line in block.splitlines():
        key, _sign, value = line.partition("=")
        pairs.setdefault(key, []).append(value)
    name = "".join(pairs.get("Id", []))
    if not name.endswith(".service") or pairs.get("LoadState") != ["loaded"]:
        return None
    words = tuple(word for line in pairs.get("ExecStart", []) for argv in _ARGV.findall(line) for word in argv.split())
    enabled, active = pairs.get("UnitFileState") == ["enabled"], pairs.get("ActiveState") == ["active"]
    return Unit(name, enabled, active, "".join(pairs.get("WorkingDirectory", [])), words)


def unit_of_cgroup(text: str) -> str | None:
    """The unit that a process belongs to; Docker's own say nothing."""
    found = [name for name in _UNIT.findall(text) if name not in _ENGINES]
    return found[-1] if found else None


def with_unit(
    every: Sequence[Seen], units: Iterable[Unit], clients: Iterable[tuple[str, Sequence[str]]]
) -> Mapping[str, UnitSeen]:
    """The unit of each container by the container's id; ``clients`` are processes of Docker's client by unit."""
    known = {unit.name: unit for unit in units}
    by_client = list(clients)
    found = {seen.id: name for seen in every if (name := _name_of(seen, known.values(), by_client))}
    named = {seen.id: seen.name for seen in every}
    return {
        own: UnitSeen(
            name,
            known[name].enabled if name in known else False,
            tuple(sorted(named[other] for other, theirs in found.items() if theirs == name and other != own)),
        )
        for own, name in found.items()
    }


def _name_of(seen: Seen, units: Iterable[Unit], clients: Iterable[tuple[str, Sequence[str]]]) -> str | None:
    client = next((unit for unit, words in clients if _names(words, seen.name)), None)
    return client or next((unit.name for unit in units if unit.active and _starts(unit, seen)), None)


def _starts(unit: Unit, seen: Seen) -> bool:
    if not any("docker" in word or "podman" in word for word in unit.words):
        return False
    folder, files = seen.labels.get(COMPOSE_FOLDER), seen.labels.get(COMPOSE_FILES)
    compose = any("compose" in word for word in unit.words)
    if compose and folder and (unit.folder == folder or any(word in (folder, files) for word in unit.words)):
        return True
    return _names(unit.words, seen.name)


def _names(words: Sequence[str], name: str) -> bool:
    return any(word in (name, f"--name={name}") for word in words)
