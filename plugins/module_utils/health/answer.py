# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One answer of a server, or the reason why there is none.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OK = 200


@dataclass(frozen=True)
class Answer:
    """What came back: ``status`` is None and ``error`` says why when nothing usable came.

    ``first_seconds`` is when the first piece of the body (or the marker that was waited for) had arrived;
    ``truncated`` says that the body was longer than what may be read.
    """

    status: int | None
    body: bytes
    seconds: float
    error: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    first_seconds: float | None = None
    timed_out: bool = False
    truncated: bool = False

    @property
    def ok(self) -> bool:
        """Whether the server said 200 and the whole body was read."""
        return self.status == OK and self.error is None and not self.truncated

    @property
    def text(self) -> str:
        """The body as text, whatever its bytes are."""
        return self.body.decode("utf-8", "replace")

    def json(self) -> Any:
        """The body as JSON; None when it is none (a JSON null is none, too)."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None


def outcome(answer: Answer) -> str:
    """Say in a few words what came: the error, or the status and the begin of a body that is no success."""
    if answer.error is not None:
        return answer.error
    if answer.truncated:
        return f"HTTP {answer.status} with a body of more than {len(answer.body)} bytes"
    said = "" if answer.status == OK else message_of(answer)
    return f"HTTP {answer.status}" + (f": {said}" if said else "")


def message_of(answer: Answer) -> str:
    """What the server says about its error, one short line."""
    data = answer.json()
    error = data.get("error", data.get("detail")) if isinstance(data, dict) else None
    if isinstance(error, dict):
        error = error.get("message")
    return short(str(error)) if error else ""


def short(text: str, limit: int = 200) -> str:
    """One line of printable characters, ``limit`` of them at most."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text[: 4 * limit]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
