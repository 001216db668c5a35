# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge if images and models fit on the file systems that they go to.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..findings import ERROR, INFO, Finding
from .facts import Disk, Host
from .refusal import refusal
from .wanted import Wanted

GIB = 1 << 30


@dataclass(frozen=True)
class Need:
    """Room that something takes; ``bytes`` is None when nobody can say before it is fetched."""

    what: str
    place: str
    bytes: int | None


def image_needs(
    services: Iterable[Wanted], platform: str, missing: Mapping[str, int | None], factor: float
) -> tuple[Need, ...]:
    """What the images that are not here yet take on Docker's file system, each image once."""
    needs = {}
    for service in services:
        if service.pull in missing and service.pull is not None:
            compressed = missing[service.pull] or (service.platforms.get(platform) or {}).get("compressed_bytes")
            size = int(compressed * factor) if compressed else None
            needs[service.pull] = Need(f"{service.name}: image {service.pull}", "docker", size)
    return tuple(needs.values())


def model_needs(services: Iterable[Wanted], missing: Mapping[str, int | None]) -> tuple[Need, ...]:
    """What the models that are not here yet take in the cache; ``missing`` has the bytes by service."""
    needs = {}
    for service in services:
        if service.name in missing:
            name = f"{service.name}: model {service.model.get('name')}"
            needs[name] = Need(name, "cache", missing[service.name])
    return tuple(needs.values())


def judge_room(host: Host, needs: Iterable[Need], reserve_bytes: int) -> Iterator[Finding]:
    """Add up what goes to each file system (two places may be one) and say where it does not fit."""
    needs = tuple(needs)
    for need in needs:
        if need.bytes is None:
            yield Finding(
                "size_unknown",
                INFO,
                need.what,
                "its size is not known yet, so its room is judged when it is fetched",
                expected="a known size",
            )
    for device in sorted({disk.device for disk in host.disks.values()}):
        yield from _judge_device(host.disks, device, needs, reserve_bytes)


def _judge_device(
    disks: Mapping[str, Disk], device: int, needs: tuple[Need, ...], reserve_bytes: int
) -> Iterator[Finding]:
    places = {place: disk for place, disk in disks.items() if disk.device == device}
    here = [need for need in needs if need.place in places and need.bytes]
    total = sum(need.bytes or 0 for need in here) + reserve_bytes
    disk = min(places.values(), key=lambda each: each.path)
    if disk.free_bytes < total:
        parts = [f"{need.what} {gib(need.bytes or 0)}" for need in here] + [f"reserve {gib(reserve_bytes)}"]
        paths = ", ".join(sorted({each.path for each in places.values()}))
        yield Finding(
            "disk_room",
            ERROR,
            f"host disk of {paths}",
            f"{gib(disk.free_bytes)} is free and {gib(total)} is needed ({', '.join(parts)})",
            expected=total,
            observed=disk.free_bytes,
            remedy=f"free room (see: docker system df; du -xhd1 {disk.path}), or move it to a larger disk",
        )


def require_room(disk: Disk, need: Need) -> None:
    """Stop where something does not fit; what nobody knows the size of is tried."""
    if need.bytes is not None and disk.free_bytes < need.bytes:
        raise refusal(
            "disk_room",
            need.what,
            f"{gib(need.bytes)} is needed on the disk of {disk.path}, and {gib(disk.free_bytes)} is free",
            f"free room (see: docker system df; du -xhd1 {disk.path}), or move it to a larger disk",
        )


def gib(count: int) -> str:
    """Write bytes for people, the way in which disks and memory are counted."""
    return f"{count / GIB:.1f} GiB"


def moved(count: int) -> str:
    """Write bytes for people, the way in which downloads are counted."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count} B"
