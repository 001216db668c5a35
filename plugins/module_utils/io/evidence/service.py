# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the host has written down of a service: its release, its starts with their logs, its unit, its journals.

Private to the collection.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...diagnose.budget import LARGE, LOG_HEAD, LOG_TAIL, LOGS, SMALL
from ...diagnose.contents import DATA, RECORD, RUN, TEXT, UNIT, Raw
from ...release.files import GATE_NAME, RECORD_NAME
from ...release.journal import format_entry
from ...release.record import record_from_dict
from ...startup.parse import StartupReport, parse_startup_log, startup_from_dict
from .. import containers, kept_log, starts
from ..files import link_name
from ..journals import read_journal
from ..peek import Ends, ends_of_command, ends_of_file, ends_of_gzip
from .reader import ASK, Reader

_OLDER_STARTS = 10
_PROPERTIES = (
    "ActiveState,SubState,Result,NRestarts,InvocationID,MainPID,ExecMainStatus,ExecMainCode,LimitMEMLOCK,LimitNOFILE,"
    "TimeoutStartUSec,TimeoutStopUSec,StateChangeTimestamp,UnitFileState,FragmentPath,DropInPaths,StatusText"
)


def read_release(reader: Reader, started: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record of the current release, and its gate; the other files of the release are parts of the bundle.

    A first start that failed left no current release: then it is the one that was ``started`` last.
    """
    name = link_name(reader.paths.current) or (started if isinstance(started, str) else "")
    folder = reader.paths.release(name) if name and "/" not in name else None
    if folder is None or not folder.is_dir():
        return {}, {}
    record = reader.object("release", folder / RECORD_NAME)
    gate = reader.object("gate", folder / GATE_NAME)
    reader.keep(f"release/{RECORD_NAME}", RECORD, record, SMALL, str(folder / RECORD_NAME))
    reader.keep(f"release/{GATE_NAME}", DATA, gate, SMALL, str(folder / GATE_NAME))
    for name, kind in (("run", RUN), ("args", TEXT), ("entry", TEXT)):
        text = reader.text(f"release file {name}", folder / name)
        reader.keep(f"release/{name}", kind, text, SMALL, str(folder / name))
    if record:  # one that was edited is told, and read all the same
        reader.source("release", lambda: record_from_dict(record))
    return record, gate


def read_starts(reader: Reader) -> tuple[dict[str, Any], StartupReport | None]:
    """The newest start and what its log says; what is kept of the last ones goes into the bundle."""
    paths = reader.paths
    numbers = reader.source("start", lambda: starts.numbers(paths)) or []
    if not numbers:
        return {}, None
    for seq in reversed(numbers[-_OLDER_STARTS:]):
        for name in ("state.json", "startup.json"):
            path = paths.start(seq) / name
            data = reader.object(f"{name} of start {seq}", path) if path.exists() else {}
            reader.keep(f"starts/{seq}/{name}", DATA, data, SMALL, str(path))
    newest = numbers[-1]
    logs = {seq: _log(reader, seq) for seq in reversed(numbers[-LOGS:])}
    known = reader.source("start", lambda: starts.read(paths, newest)) or {}
    return known, reader.source("start-up log", lambda: _startup(reader, newest, logs[newest]))


def _log(reader: Reader, seq: int) -> Raw | None:
    """The log of a start, as a part of the bundle."""
    found = reader.source(f"log of start {seq}", lambda: _log_ends(reader, seq))
    if found is None:
        return None
    source, ends = found
    head, tail = (piece.decode("utf-8", "replace") for piece in (ends.head, ends.tail))
    if not ends.gone:
        head, tail = head + tail, ""
    raw = Raw(f"starts/{seq}/log", TEXT, head, LOG_HEAD + LOG_TAIL, source, tail, ends.gone)
    reader.raws.append(raw)
    return raw


def _log_ends(reader: Reader, seq: int) -> tuple[str, Ends] | None:
    """Kept, kept compressed, or what its container has said so far."""
    kept = kept_log.find(reader.paths.start(seq))
    if kept is not None:
        ends_of = ends_of_gzip if kept.suffix == ".gz" else ends_of_file
        return str(kept), ends_of(kept, LOG_HEAD, LOG_TAIL)
    known = starts.read(reader.paths, seq)
    container = str(known.get("container_id") or "")
    if not container or "exit_code" in known or containers.inspect(container, runner=reader.run) is None:
        return None
    argv = ["docker", "logs", container]
    return " ".join(argv), ends_of_command(argv, LOG_HEAD, LOG_TAIL, ASK)


def _startup(reader: Reader, seq: int, log: Raw | None) -> StartupReport | None:
    """What was parsed when the log was kept; else it is read here."""
    data = starts.startup(reader.paths, seq)
    if data.get("diagnosis") or (data and log is None):
        return startup_from_dict(data)
    return parse_startup_log((log.content + log.tail).splitlines(keepends=True)) if log is not None else None


def read_unit(reader: Reader) -> None:
    """The unit with its drop-ins, what systemd says of it, its journal, and the records of the runs."""
    paths = reader.paths
    if not paths.unit_file.exists() and not paths.state.exists():
        return
    show = ["systemctl", "show", "--no-pager", f"--property={_PROPERTIES}", paths.unit]
    shown = reader.said("unit", show, "unit/show.txt", SMALL)
    more = next((line.partition("=")[2].split() for line in shown.splitlines() if line.startswith("DropInPaths=")), [])
    own = paths.unit_file.with_name(f"{paths.unit}.d")  # systemd tells of those only that it has loaded
    files = [paths.unit_file, *map(Path, more), *sorted(own.glob("*.conf"))]
    for path in dict.fromkeys(path for path in files if path.exists()):
        reader.keep(f"unit/{path.name}", UNIT, reader.text(f"unit file {path}", path), SMALL, str(path))
    journal = ["journalctl", "--quiet", "--no-pager", "--output=short-iso", "--lines=1000", f"--unit={paths.unit}"]
    reader.said("systemd journal", journal, "unit/journal.txt", LARGE)
    entries = reader.source("journal of runs", lambda: read_journal(paths).entries) or ()
    reader.keep("journal.jsonl", TEXT, "".join(map(format_entry, entries)), LARGE, str(paths.journal))
