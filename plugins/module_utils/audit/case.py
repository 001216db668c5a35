# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One audit: the subject, the version that will run it, the version that ran it before. What every rule looks at.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable

from ..config.command_line import CommandLine
from ..findings import Finding
from ..versions import Version
from .subject import Subject


@dataclass(frozen=True)
class Case:
    """``line`` is the subject's command line as ``version`` reads it, None where the subject has none.

    ``version`` is the release that the tables are asked for: the newest one read, where the subject's own is newer.
    ``previous`` is the version that ran before, or None; ``previous_line`` what ran then, as that version read it.
    """

    subject: Subject
    version: Version
    line: CommandLine | None = None
    previous: Version | None = None
    previous_line: CommandLine | None = None

    def about(self, part: str) -> str:
        """The subject of a finding: the name of what is audited, then the part of it."""
        return f"{self.subject.name} {part}".strip()


@dataclass(frozen=True)
class Rule:
    """One rule: ``id`` is that of its findings, ``source`` says where the rule comes from, ``check`` finds them."""

    id: str
    severity: str
    source: str
    check: Callable[[Case], Iterable[Finding]]
