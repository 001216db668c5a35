# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Take a line of a log apart: who said it, how loud, when, and what; whatever was put in front of it on its way.

Docker, compose, journald, Kubernetes, CI and notebooks put their words in front, vLLM its processes (nested, and other
ones in every release), terminals their colours, of which copying can lose the ESC, and JSON logging hides it all.
Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

# Characters of a line that are looked at; the options of a start and JSON take more.
_MAX_TEXT, _MAX_LONG = 2048, 1 << 16
_LONG = re.compile(r'args: |with config|\{"')
_ANSI = re.compile(
    r"(?:\x1b|\^\[|\\x1b|\\u001b|\\033|#x1B|#033|\N{SYMBOL FOR ESCAPE})(?:\[[0-9;?]*[ -/]*[@-~]"
    r"|\][^\x07\x1b]*(?:\x07|\x1b\\)?|_bk;t=\d+\x07?)"
    r"|\x1b_bk;t=\d+\x07?|\x1b.|\[\d{1,3}(?:;\d{1,3}){0,3}m|(?<![\w\]])\[m(?!\w)"
)
_BORDER = re.compile("^\\s*[\u2502\u2503|]\\s?(.*?)\\s*[\u2502\u2503|]\\s*$")
_HEADER = re.compile(
    r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+(\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)? (?:\[[^\]\s]*:\d+\]"
    r"|\S+\.py:\d+\]) ?"
)
_OTHER_HEADER = re.compile(r"\b(DEBUG|INFO|WARNING|ERROR|CRITICAL):\s+")
_PROCESS = re.compile(r"\((?:([A-Za-z][\w-]*)(?: (?:rank=\d+|[A-Z]{2,4}\d+))*)?,? ?pid=(\d+)(?:, ip=[\w.:]+)?\) ?")
_STAMP = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?"
_PREFIXES = (
    re.compile(rf"\[?{_STAMP}\]?:?[ \t](?:std(?:out|err) [FP] )?"),
    re.compile(
        r"\[?[A-Z][a-z]{2}(?: [A-Z][a-z]{2})? [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?\]? (?:[\w.-]+"
        r" [\w.@/-]+(?:\[\d+\])?: )?"
    ),
    re.compile(rf"[^\t]{{1,80}}\t[^\t]{{1,80}}\t(?={_STAMP})"),
    re.compile(r"[\w.-]+ [\w.@/-]+\[\d+\]: "),
    re.compile(r"\[\d\d:\d\d:\d\d(?:\.\d+)?\] "),
    re.compile(r"std(?:out|err) [FP] "),
    re.compile(r"[\w./-]+(?: [\w./-]+)?\s*\| "),
    re.compile(r"\|\s*(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s*\|\s*[\w.:<>-]+\s*[|-]\s"),
    re.compile(r"\[(?:DEBUG|INFO|WARN|WARNING|ERROR) *\] \S+ [\w.]+ - ?"),
    re.compile(r"\[(?:pod/)[^\]]+\] ?"),
    re.compile(r"(?:\[default\d+\]:)?\[(?:rank)\d+\]: ?"),
    re.compile(r"#\d+ \d+\.\d+ "),
    re.compile(r"> "),
    _PROCESS,
)
_NO_FRAME = "Value error, "  # how pydantic shows the reason of its own error
_SAYS = ("message", "log", "MESSAGE", "msg", "textPayload", "line", "text")


class Record(NamedTuple):
    """A line without what was put in front; ``level`` and ``stamp`` are empty where it has no header."""

    text: str
    process: str
    level: str
    stamp: str
    whole: str
    wrapped: bool = False

    @property
    def said(self) -> str:
        """The line as its process wrote it: out of the JSON that a logger or a log driver put it into."""
        return self.text if self.wrapped else self.whole

    @property
    def is_frame(self) -> bool:
        """Whether it is part of a traceback, not its last line."""
        return (self.text[:1].isspace() or self.text[:1] in ("^", "~")) and not self.text.lstrip().startswith(_NO_FRAME)


def plain(line: str) -> str:
    """The line without colours and the borders of a table."""
    text = _ANSI.sub("", line) if "[" in line or "\x1b" in line else line
    if text.lstrip()[:1] in "\u2502\u2503|" and text.strip():
        bordered = _BORDER.match(text)
        text = bordered.group(1) if bordered else text
    return text


def records(line: str) -> Iterator[Record]:
    """What a line says: one record, or with JSON logging as many as the message has lines."""
    most = _MAX_LONG if _LONG.search(line, 0, _MAX_TEXT) else _MAX_TEXT
    text = plain(line[: 2 * most])[:most]
    said = _json(text)
    if said is None:
        yield _record(text)
        return
    parts = said[1].splitlines()
    for part in parts:
        record = _record(plain(part))
        whole = part if len(parts) > 1 else line  # of a whole traceback in one line, the line that says why
        yield record._replace(
            process=record.process or said[0], level=record.level or said[2], whole=whole, wrapped=True
        )


def _record(text: str) -> Record:
    header = _HEADER.search(text)
    if header:
        return Record(text[header.end() :], _process_in(text[: header.start()]), header[1], header[2], text)
    rest, process = _without_prefixes(text)
    other = _OTHER_HEADER.match(rest)
    if other:
        return Record(rest[other.end() :], process, other[1], "", text)
    return Record(rest.rstrip(), process, "", "", text)


def _process_in(prefix: str) -> str:
    """The innermost process that a prefix names, with its pid: two engines have workers of one name."""
    found = ""
    for match in _PROCESS.finditer(prefix):
        found = f"{match[1] or ''}/{match[2]}"
    return found


def _without_prefixes(text: str) -> tuple[str, str]:
    process, start = "", 0
    for _round in range(8):
        match = next(filter(None, (pattern.match(text, start) for pattern in _PREFIXES)), None)
        if match is None or match.end() == start:
            break
        if match.re is _PROCESS:
            process = f"{match[1] or ''}/{match[2]}"
        start = match.end()
    return text[start:], process


def _json(text: str) -> tuple[str, str, str] | None:
    """(process, message, level) of a line of JSON logging, vLLM's or of a log driver."""
    start = text.find("{")
    if start < 0 or not any(f'"{key}"' in text for key in _SAYS):
        return None
    try:
        data: Any = json.loads(text[start:])
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    said = next((data[key] for key in _SAYS if isinstance(data.get(key), str)), None)
    if said is None or "object" in data:  # the server's answer to a request is no log record
        return None
    nested = _json(said) if said.lstrip().startswith("{") else None
    name, number = data.get("processName"), data.get("process")
    process = f"{name}/{number}" if name and number else ""
    trace = data.get("exc_info")
    whole = f"{said}\n{trace}" if isinstance(trace, str) else said
    return nested or (process, whole, str(data.get("levelname") or data.get("level") or ""))
