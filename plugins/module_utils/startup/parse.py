# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Read what a start of vLLM said about itself: one pass over the lines, memory does not grow with the log.

Values are lists of what was printed, each value once, in order of appearance: several ranks may say different things.
Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Callable

from .arguments import parse_arguments
from .lines import plain_lines, redact

_MAX_VALUES = 256
_MAX_ERROR = 500

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_COUNT = r"(\d[\d,]*)"
_LIST_PATTERNS: dict[str, re.Pattern[str]] = {
    "weights_load_seconds": re.compile(rf"Loading weights took {_NUMBER} seconds"),
    "kv_cache_available_gib": re.compile(rf"Available KV cache memory: {_NUMBER} GiB"),
    "kv_cache_tokens": re.compile(rf"[A-Z]+(?: \+ host)? KV cache size: {_COUNT} tokens"),
    "max_concurrency": re.compile(rf"Maximum concurrency for {_COUNT} tokens per request: {_NUMBER}x"),
    "graph_capture": re.compile(rf"Graph capturing finished in {_NUMBER} secs(?:, took {_NUMBER} GiB)?"),
    "engine_init_seconds": re.compile(
        rf"init engine \([^)]*\) took {_NUMBER} s(?:econds)?\b(?: \(compilation: {_NUMBER} s)?"
    ),
}
_MODEL_LOADED = re.compile(rf"Model loading took {_NUMBER} Gi?B(?: memory)? and {_NUMBER} seconds")
_VERSIONS = re.compile(
    r"Initializing an? (?:V[01] )?LLM engine \(v([^)\s]+)\)|vLLM API server version v?(\d\S*)|█  version (\d\S*)"
)
_ARGUMENTS = "non-default args: "
_COMPLETE = "Application startup complete"
# The begin of every pattern above: a line with none of these words is not looked at twice.
_WORTH = re.compile(
    r"took|KV cache|Maximum concurrency|Graph capturing|LLM engine|version|non-default args|startup complete"
)
_ERROR = re.compile(
    r"\b(?:ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d|\b[A-Za-z_][\w.]*(?:Error|Exception|Interrupt): |\berror: |"
    r"^(?:Killed|Segmentation fault)\b"
)
# What a process says of the death of another one: the cause is somewhere else, or nobody said it.
_CONSEQUENCE = re.compile(r"See (?:root cause above|stack trace(?: \(above\))? for (?:the )?root cause)\.?\s*")
# A SIGTERM during the load, ours for one; what comes of it is no error of the engine.
_TERMINATED = re.compile(r"KeyboardInterrupt: terminated$")
# A traceback's frame and the words around it say nothing by themselves.
_FRAME = re.compile(
    r"\] (?:\s|Traceback|$)|failed to start\.|hit an exception\.$|encountered a fatal error\.$|"
    r"output_handler failed\.$|Traceback \(most recent call last\)"
)
# The end of an engine that was killed; the line itself is a warning only.
_DEATH = re.compile(r"engine core exited unexpectedly|died unexpectedly")
# A server that serves writes its clients' mistakes as errors; what the engine's own processes say is about the engine.
_OF_THE_ENGINE = re.compile(r"^\((?!APIServer)\w+ pid=\d+\) ")
# A warning that speaks of an error is still a warning.
_NO_ERROR = re.compile(r"\b(?:DEBUG|INFO|WARNING) \d\d-\d\d \d\d:\d\d:\d\d")


@dataclass(frozen=True)
class StartupReport:
    """What one start said; a fact that was not printed is None or an empty list."""

    vllm_version: str | None = None
    kv_cache_tokens: tuple[int, ...] = ()
    kv_cache_tokens_usable: int | None = None
    max_concurrency: tuple[tuple[int, float], ...] = ()
    kv_cache_available_gib: tuple[float, ...] = ()
    model_memory_gib: tuple[float, ...] = ()
    model_load_seconds: tuple[float, ...] = ()
    weights_load_seconds: tuple[float, ...] = ()
    engine_init_seconds: tuple[tuple[float, float | None], ...] = ()
    graph_capture: tuple[tuple[float, float | None], ...] = ()
    non_default_args: dict[str, Any] | None = None
    startup_complete: bool = False
    first_error_line: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data (lists, not tuples)."""
        return {name: _listed(value) for name, value in asdict(self).items()}


def parse_startup_log(lines: Iterable[str]) -> StartupReport:
    """Read the log of one start, line by line; colours, process names and other prefixes do not matter."""
    reader = _Reader()
    for line in plain_lines(lines):
        if _WORTH.search(line):
            reader.take(line)
        if reader.error is None and (_ERROR.search(line) or _DEATH.search(line)):
            reader.note_error(line)
    return reader.report()


def startup_from_dict(data: dict[str, Any]) -> StartupReport:
    """Read a report back from its plain data; keys that a newer tool wrote are left out."""
    names = StartupReport.__dataclass_fields__
    return StartupReport(**{name: _tupled(value) for name, value in data.items() if name in names})


class _Reader:
    def __init__(self) -> None:
        self.version: str | None = None
        self.arguments: dict[str, Any] | None = None
        self.complete = False
        self.error: str | None = None
        self.last_of_requests: str | None = None
        self.consequence: str | None = None
        self.values: dict[str, list[Any]] = {
            name: [] for name in (*_LIST_PATTERNS, "model_memory_gib", "model_load_seconds")
        }

    def take(self, line: str) -> None:
        """Look for every fact in one line: from 0.28 one line holds two."""
        for name, pattern in _LIST_PATTERNS.items():
            match = pattern.search(line)
            if match:
                self.add(name, _READ[name](match))
        loaded = _MODEL_LOADED.search(line)
        if loaded:
            self.add("model_memory_gib", float(loaded.group(1)))
            self.add("model_load_seconds", float(loaded.group(2)))
        self.take_words(line)

    def take_words(self, line: str) -> None:
        """Look for the facts that are no figures."""
        found = _VERSIONS.search(line)
        if found:
            self.version = next(filter(None, found.groups()), "").rstrip(",.") or self.version
        if _ARGUMENTS in line and self.arguments is None:
            self.arguments = parse_arguments(line.split(_ARGUMENTS, 1)[1])
        self.complete = self.complete or _COMPLETE in line

    def add(self, name: str, value: Any) -> None:
        """Keep a value once, and not without limit."""
        kept = self.values[name]
        if value not in kept and len(kept) < _MAX_VALUES:
            kept.append(value)

    def note_error(self, line: str) -> None:
        """Keep the first line that names an error; from a server that serves, only the engine's end is one."""
        if _FRAME.search(line):
            return
        death = _DEATH.search(line)
        if _NO_ERROR.search(line) and not death:
            return
        text = redact(line.strip())[:_MAX_ERROR]
        if _TERMINATED.search(text):
            return
        if _CONSEQUENCE.search(text):
            self.consequence = self.consequence or _CONSEQUENCE.sub("", text).strip()
        elif self.complete and not death and not _OF_THE_ENGINE.search(line):
            self.last_of_requests = text
        else:
            self.error = text

    def report(self) -> StartupReport:
        lists = {name: tuple(kept) for name, kept in self.values.items()}
        return StartupReport(
            vllm_version=self.version,
            kv_cache_tokens_usable=min(lists["kv_cache_tokens"], default=None),
            non_default_args=self.arguments,
            startup_complete=self.complete,
            first_error_line=self.error or self.consequence or self.last_of_requests,
            **lists,
        )


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _pair(match: re.Match[str]) -> tuple[float, float | None]:
    second = match.group(2)
    return (_figure(match.group(1)), None if second is None else float(second))


def _figure(text: str) -> float:
    """A number as it was printed: 28 stays 28."""
    return float(text) if "." in text else int(text)


_READ: dict[str, Callable[[re.Match[str]], Any]] = {
    "weights_load_seconds": lambda match: float(match.group(1)),
    "kv_cache_available_gib": lambda match: float(match.group(1)),
    "kv_cache_tokens": lambda match: _count(match.group(1)),
    "max_concurrency": lambda match: (_count(match.group(1)), float(match.group(2))),
    "graph_capture": _pair,
    "engine_init_seconds": _pair,
}


def _listed(value: Any) -> Any:
    return [_listed(item) for item in value] if isinstance(value, tuple) else value


def _tupled(value: Any) -> Any:
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
