# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read what ``nvidia-smi --query-compute-apps=…`` prints: which processes hold memory of which GPU.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

FIELDS = ("pid", "used_memory", "gpu_uuid")
QUERY = ("nvidia-smi", f"--query-compute-apps={','.join(FIELDS)}", "--format=csv,noheader,nounits")


@dataclass(frozen=True)
class Holder:
    """One process on one GPU; how much it holds is None where the driver does not say."""

    pid: int
    mib: int | None
    gpu: str


def parse_holders(text: str) -> tuple[Holder, ...]:
    """Read the rows; one without a process id is of a process that this host cannot see, or no row at all."""
    return tuple(holder for holder in map(_row, text.splitlines()) if holder is not None)


def _row(line: str) -> Holder | None:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(FIELDS) or not cells[0].isdigit():
        return None
    return Holder(int(cells[0]), int(cells[1]) if cells[1].isdigit() else None, cells[2])
