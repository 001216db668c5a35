# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Keep what a start said: its log without secrets, and what was read from it. No fault of the disk ends a verb.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import Any

from ..io import earlier_secrets, kept_log, starts
from ..io.containers import DockerError
from ..io.files import read_if_there, write_atomic
from ..release.files import to_json
from ..release.paths import Paths
from ..release.redact import Redactor
from ..secrets_file import parse_secrets
from ..startup.lines import redact
from .errors import ToolError
from .say import complain

# Docker lets go of the oldest part of a long log. So many lines tell if the beginning is still there.
_BEGINNING = 8
ROTATED = "[... the lines in between were left out: Docker had let go of them when this start ended ...]"


def secrets_of(paths: Paths) -> dict[str, str]:
    """The secrets of the service; none when there is no file."""
    try:
        return parse_secrets(read_if_there(paths.secrets) or "")
    except ValueError as error:
        raise ToolError(f"{paths.secrets}: {error}; write it anew with deploy") from None


def redactor_of(paths: Paths) -> Redactor:
    """What takes the secrets of the service out of text, also those of an earlier start and of a rotation."""
    rotated = (paths.back_secrets, paths.next_secrets)
    return Redactor(
        secrets_of(paths), earlier_secrets.read(paths), *(earlier_secrets.read_file(each) for each in rotated)
    )


class Keeper:
    """Keeps the log of one start line by line."""

    def __init__(self, paths: Paths, seq: int, name: str = kept_log.NEW) -> None:
        self._paths = paths
        self._seq = seq
        self._redactor = redactor_of(paths)
        self._writer = kept_log.LogWriter(paths.start(seq), name, redact)

    def add(self, raw: str) -> str:
        """Take the next line as the engine printed it; gives it without the values of secrets."""
        line = self._redactor.line(raw)
        self._writer.add(line)
        return line

    def clean(self, raw: str) -> str:
        """The line as it is kept."""
        return redact(self._redactor.line(raw))

    def adopt(self, lines: Iterable[str]) -> None:
        """Take lines that were kept before, and say that there is a gap behind them."""
        self._writer.adopt(lines, ROTATED)

    def flush(self) -> None:
        """Let others see what there is so far."""
        self._writer.flush()

    def finish(self) -> dict[str, Any]:
        """Complete the log and read it; what ``state.json`` says of it."""
        self._writer.close()
        printed = {"printed_secrets": sorted(self._redactor.met)} if self._redactor.met else {}
        error = f"its log could not be kept whole: {self._writer.error}" if self._writer.error else ""
        counts = {"log_lines": self._writer.lines, "log_lines_left_out": self._writer.left_out}
        return {**counts, **printed, **_read(self._paths, self._seq, error)}


def keep(paths: Paths, seq: int, raw_lines: Iterable[str]) -> dict[str, Any]:
    """Keep the log that Docker has, line by line to its end; what ``state.json`` says of it.

    Where its beginning is gone, the one that the gate has kept stays.
    """
    faults: list[str] = []
    source = _until_docker_fails(raw_lines, faults)
    begins = list(islice(source, _BEGINNING))
    found = kept_log.find(paths.start(seq))
    if found is not None and not begins:
        return {**keep_left(paths, seq), **_of(faults)}
    keeper = Keeper(paths, seq)
    if found is not None and not _same_beginning(begins, found, keeper):
        keeper.adopt(_before_gap(kept_log.read_lines(found)))
    for raw in chain(begins, source):
        keeper.add(raw)
    return {**keeper.finish(), **_of(faults)}


def keep_left(paths: Paths, seq: int) -> dict[str, Any]:
    """What a gate that was killed had written so far, where there is nothing else."""
    found = kept_log.find(paths.start(seq))
    if found is None or found.name != kept_log.PART:
        return {}
    keeper = Keeper(paths, seq)
    for line in kept_log.read_lines(found):
        keeper.add(line)
    return keeper.finish()


def note(paths: Paths, seq: int, fields: Mapping[str, Any]) -> None:
    """Add to what is known of a start; a disk that refuses is said, and ends nothing."""
    try:
        starts.update(paths, seq, dict(fields))
    except OSError as error:
        complain(f"{paths.service}: {paths.start(seq)} could not be written: {error.strerror or error}")


def _until_docker_fails(lines: Iterable[str], faults: list[str]) -> Iterator[str]:
    """A log that a power cut has spoiled is no reason to let go of what can be read of it."""
    try:
        yield from lines
    except DockerError as error:
        faults.append(str(error))


def _of(faults: list[str]) -> dict[str, str]:
    return {"evidence_error": f"its log ends early, Docker said: {faults[0]}"} if faults else {}


def _read(paths: Paths, seq: int, error: str) -> dict[str, Any]:
    # Not above: of the verbs that are downtime, those that read no log do not wait for what reads one.
    from ..startup.parse import parse_startup_log  # noqa: PLC0415

    found = kept_log.find(paths.start(seq))
    report = parse_startup_log(kept_log.read_lines(found) if found else ())
    try:
        write_atomic(paths.start(seq) / "startup.json", to_json(report.to_dict()))
    except OSError as failed:
        error = error or f"what its log says could not be kept: {failed.strerror or failed}"
    return {"first_error": report.first_error_line, "evidence_error": error or None}


def _same_beginning(begins: list[str], found: Path, keeper: Keeper) -> bool:
    kept = list(islice(kept_log.read_lines(found), len(begins)))
    return [keeper.clean(line) for line in begins[: len(kept)]] == kept


def _before_gap(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if line == ROTATED:
            return
        yield line
