# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read what ``nvidia-smi --query-gpu=… --format=csv,noheader,nounits`` prints, and why it printed nothing.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

FIELDS = ("index", "uuid", "name", "memory.total", "driver_version")
QUERY = ("nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits")

# What the tool says when it cannot answer, and what helps.
_REMEDIES = (
    ("driver/library version mismatch", "reboot the host: the driver's libraries were updated under a loaded module"),
    ("gpu is lost", "reboot the host, and look for Xid lines in: journalctl -k"),
    ("no devices were found", "check the cards with: lspci -d 10de: and the driver with: dmesg | grep -i nvrm"),
    ("couldn't communicate with the nvidia driver", "install or load the NVIDIA driver: modprobe nvidia"),
)


@dataclass(frozen=True)
class Gpu:
    """One GPU; what the tool does not know is None."""

    index: int
    uuid: str
    name: str
    memory_total_mib: int | None
    driver_version: str | None


def parse_gpus(text: str) -> tuple[Gpu, ...]:
    """Read the rows; a row of another shape is an error text of the tool and no GPU."""
    return tuple(gpu for gpu in (_row(line) for line in text.splitlines()) if gpu is not None)


def _row(line: str) -> Gpu | None:
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(FIELDS) or not cells[0].isdigit():
        return None
    index, uuid, name, memory, driver = cells
    return Gpu(int(index), uuid, name, int(memory) if memory.isdigit() else None, _known(driver))


def _known(cell: str) -> str | None:
    return None if cell.startswith("[") or cell in ("", "N/A") else cell


def remedy_for(said: str) -> str:
    """What to do about a tool that does not list GPUs."""
    low = said.lower()
    return next(
        (remedy for words, remedy in _REMEDIES if words in low), "run nvidia-smi on the host and read its answer"
    )
