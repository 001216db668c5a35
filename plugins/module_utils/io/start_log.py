# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The log of one start: the one that was kept, or what its container has said so far. No decisions.

Private to the collection.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..release.paths import Paths
from ..release.redact import Redactor
from ..startup.lines import redact
from ..startup.parse import StartupReport, parse_startup_log
from . import containers, earlier_secrets, kept_log, starts
from .expected import NotHere, secrets_of

LATEST = "latest"
_LONGEST_LINE = 4096


@dataclass(frozen=True)
class StartLog:
    """One start: what is known of it, what its log says, and the end of the log."""

    known: dict[str, Any]
    report: StartupReport
    log: tuple[str, ...]
    log_lines: int


def read_start(paths: Paths, start: str, max_lines: int) -> StartLog:
    """Read a start by its number or as ``latest``; NotHere when it is not kept on this host."""
    seq = start_number(paths, start)
    known = starts.read(paths, seq)
    tail = _Tail(max_lines)
    report = parse_startup_log(tail.watch(_if_there(paths, seq)))
    return StartLog({"seq": seq, **known}, report, tail.shown(), tail.count)


def start_number(paths: Paths, start: str) -> int:
    """The number of a start that was asked for by its number or as ``latest``; NotHere when it is not kept."""
    known = starts.numbers(paths)
    if not known:
        raise NotHere(f"{paths.service} was never started on this host; run the deploy playbook")
    if start == LATEST:
        return known[-1]
    if not start.isdecimal() or int(start) not in known:
        raise NotHere(f"{paths.service} has no start {start!r}; kept are {known[0]} to {known[-1]}, or say latest")
    return int(start)


def log_lines(paths: Paths, seq: int) -> Iterator[str]:
    """The lines of a start's log, without secrets: what was kept, also of one on its way, else what Docker has.

    NotHere when there is none.
    """
    found = kept_log.find(paths.start(seq))
    container = str(starts.read(paths, seq).get("container_id") or "")
    if found is not None:
        return kept_log.read_lines(found)
    if container:
        return _of_container(paths, container)
    raise NotHere(f"{paths.service}: start {seq} has no log: no container of it was ever seen")


def _of_container(paths: Paths, container: str) -> Iterator[str]:
    redactor = Redactor(secrets_of(paths), earlier_secrets.read(paths))
    try:
        for line in containers.log_lines(container):
            yield redactor.line(line)
    except containers.DockerError as error:
        raise NotHere(f"{paths.service}: there is no log of its container {container[:12]}: {error}") from error


def _if_there(paths: Paths, seq: int) -> Iterator[str]:
    """What else is known of a start is worth showing where there is no log."""
    with contextlib.suppress(NotHere):
        yield from log_lines(paths, seq)


class _Tail:
    """Pass lines on, count them, and keep the last ones."""

    def __init__(self, size: int) -> None:
        self._kept: deque[str] = deque(maxlen=size)
        self.count = 0

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self.count += 1
            self._kept.append(line)
            yield line

    def shown(self) -> tuple[str, ...]:
        """The last lines, as people may see them."""
        return tuple(redact(line.rstrip("\r\n")[:_LONGEST_LINE]) for line in self._kept)
