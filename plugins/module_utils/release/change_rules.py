# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What has to be there before a running engine is stopped for another one: the way back, the target, room.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .states import ROLLBACK

# Journal, logs and evidence of two starts, and what Docker writes of a container.
LEAST_FREE = 1 << 30
DOOR = "vllm_accept_no_rollback"


def way_back_problems(release: str | None, missing: Iterable[str], committed: Collection[str]) -> list[str]:
    """Why the release could not be gone back to; nothing where it could."""
    if not release:
        return ["no release was ever committed on this host"]
    never = [] if release in committed else ["it was never committed on this host"]
    return [f"{release}: {problem}" for problem in (*missing, *never)]


def no_way_back(service: str, problems: Sequence[str], record: Mapping[str, Any] | None) -> str:
    """The refusal of a change that could not be taken back, with what helps and the one door."""
    door = f"-e {DOOR}={service}"
    return f"there is no way back: {'; '.join(problems)}; {_remedy(problems, record)}, or change without one: {door}"


def no_target(kind: str, release: str, missing: Sequence[str], record: Mapping[str, Any] | None) -> str:
    """The refusal of what cannot run here."""
    other = ", or name another with -e vllm_release=REL" if kind == ROLLBACK else ""
    return f"{release} cannot run here: {'; '.join(missing)}; {_remedy(missing, record)}{other}"


def room_problems(free: Mapping[str, int]) -> list[str]:
    """The folders on whose file systems there is too little room, each file system's first name once."""
    return [
        f"{path} has {room / (1 << 20):.0f} MiB free, {LEAST_FREE >> 20} MiB are needed; "
        f"free room (see: docker system df; du -xhd1 {path})"
        for path, room in free.items()
        if room < LEAST_FREE
    ]


def room_is_needed(kind: str) -> bool:
    """A rollback is what gets a host out of trouble: it is only warned."""
    return kind != ROLLBACK


def _remedy(problems: Iterable[str], record: Mapping[str, Any] | None) -> str:
    if record is None or not any("its image" in each for each in problems):
        return "put back what is missing"
    return f"docker pull {record['image']}@{record['index_digest']}, and put back what else is missing"
