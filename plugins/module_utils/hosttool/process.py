# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Whether one certain process still lives; a later one with the same number does not count.

Private to the collection.
"""

from __future__ import annotations

from pathlib import Path

_STATE, _BEGAN = 0, 19  # places in /proc/<pid>/stat after the name, which may hold spaces and brackets
_ENDED = ("Z", "X", "x")


class MainProcess:
    """The main process of the unit as systemd names it in $MAINPID; 0 or nothing means that it has ended already."""

    def __init__(self, pid: str | None, proc: str = "/proc") -> None:
        self._stat = Path(proc) / (pid if pid and pid.isdigit() and pid != "0" else "none") / "stat"
        self._began = (self._fields() or [""] * (_BEGAN + 1))[_BEGAN]

    def lives(self) -> bool:
        """Whether it still runs."""
        fields = self._fields()
        return bool(fields) and fields[_STATE] not in _ENDED and fields[_BEGAN] == self._began

    def _fields(self) -> list[str]:
        try:
            return self._stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            return []
