# SPDX-License-Identifier: Apache-2.0
"""The project's own start-up logs, with what is true of each, and the bytes that a file of text cannot hold.

``index.json`` names for every log: its diagnosis and state, the shapes of lines that it stands for, a text that its
evidence must hold, every fact that is printed in it, and the details that must be found. A fact that it does not name
is not in the log. ``made`` says what is done to the bytes first, since such bytes do not survive editors and checkouts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "fixtures"
# A process in front of a line, and a level: what vLLM colours.
_COLOURED = re.compile(rb"^(\([A-Za-z]\w* pid=\d+\))|\b(INFO|WARNING|ERROR)\b(?= \d\d-\d\d )", re.MULTILINE)
_LINE_OF_ENGINE = re.compile(rb"^\((?:EngineCore|Worker)", re.MULTILINE)
_BAR = b"Loading safetensors checkpoint shards:  33% Completed | 1/3 [00:01<00:02,  1.20s/it]"
_BLOCKS = "\u2588\u2588\u2588\u258a".encode()
_GLUED = b"Capturing CUDA graphs (decode, FULL):  40%|" + _BLOCKS + b"      | 14/35 [00:01<00:01, 13.30it/s]"

MADE = {
    "": lambda data: data,
    "crlf": lambda data: data.replace(b"\n", b"\r\n"),
    "nul_bytes": lambda data: b"\0" * 512 + data.replace(b"\n", b"\n\0", 3),
    "invalid_utf8": lambda data: data.replace(b"\n", b" \xff\xfe\x80\n", 4),
    "ansi": lambda data: _COLOURED.sub(b"\x1b[1;36m\\g<0>\x1b[0;0m", data),
    "ansi_without_esc": lambda data: _COLOURED.sub(b"[1;36m\\g<0>[0;0m", data),
    "carriage_returns": lambda data: data.replace(b"\n", b"\n" + _BAR + b"\r" + _BAR + b"\n", 5),
    "glued_bars": lambda data: _LINE_OF_ENGINE.sub(_GLUED + b"\\g<0>", data),
}


@dataclass(frozen=True)
class Fixture:
    """One log and what is true of it."""

    file: str
    diagnosis: str
    state: str
    shapes: tuple[str, ...]
    expected: dict[str, Any]
    made: str = ""
    evidence: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What a test calls it."""
        return self.file.removesuffix(".log")

    @property
    def data(self) -> bytes:
        """Its bytes, made as the index says."""
        return MADE[self.made]((FOLDER / self.file).read_bytes())


def fixtures() -> list[Fixture]:
    """Give all of them, in the order of the index."""
    entries = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
    return [Fixture(**{**entry, "shapes": tuple(entry["shapes"])}) for entry in entries]
