# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A map of parts as a subject: arguments, environment, container, host, unit, expressions, each only where it is there.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

from ...config.file_words import with_file
from ...versions import Version
from ..errors import AuditError
from ..subject import MAP, Container, HostFacts, Problem, Publish, Subject, UnitFile
from .inside import served_words
from .parts import SIZE_EXPECTED, environment, go_seconds, publish, scalar, size_bytes
from .shell import split_words

WORDS = "a list of words, or one text"
ENV = "a map of names and values, or a list of NAME=VALUE"
_TEXT, _MAP = "a text", "a map"
_CONTAINER_TEXTS = ("ipc", "network", "user", "restart", "gpus")
_CONTAINER_LISTS = ("mounts", "env_files", "secret_env", "security_opts", "ulimits", "log_options")


def read_map(given: Mapping[Any, Any], name: str, version: Version) -> Subject:
    """The map as a subject; what it does not have stays None, what cannot be read is a problem.

    ``config_file`` is the content of the file that ``--config`` names, read as ``version`` reads it.
    """
    known = {key: value for key, value in given.items() if key in KEYS}
    if not known:
        raise AuditError(f"the map has nothing to audit; expected one of its keys to be among {', '.join(KEYS)}")
    reader = _Reader(name, version)
    for key in given:
        if key not in KEYS:
            reader.say(str(key)[:80], "is no part that can be audited", f"one of {', '.join(KEYS)}")
    for key, value in known.items():
        if value is not None:
            _READERS[key](reader, key, value)
    return reader.subject()


class _Reader:
    """The parts that were read, and the problems."""

    def __init__(self, name: str, version: Version) -> None:
        self.version = version
        self.parts: dict[str, Any] = {"name": name}
        self.file: Mapping[str, Any] | None = None
        self.container: dict[str, Any] = {}
        self.problems: list[Problem] = []

    def say(self, where: str, message: str, expected: str) -> None:
        self.problems.append(Problem(where, message, expected))

    def wrong(self, where: str, expected: str) -> None:
        self.say(where, f"cannot be read; {expected} is expected", expected)

    def subject(self) -> Subject:
        command = self.parts.get("command")
        if command is not None and "words" not in self.parts:
            self.parts["words"] = command
        for key in ("words", "previous_words"):
            if key in self.parts:
                self.parts[key] = self._whole(served_words(self.parts[key]))
        if self.file is not None and "words" not in self.parts:
            self.parts["words"] = self._whole(())
        container = Container(runner=MAP, **self.container) if self.container else None
        return Subject(kind=MAP, container=container, problems=tuple(self.problems), **self.parts)

    def _whole(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """The words with those of the configuration file in front."""
        return words if self.file is None else with_file(words, self.file, self.version)

    def config_file(self, key: str, value: object) -> None:
        if isinstance(value, Mapping):
            self.file = {str(name): item for name, item in value.items()}
        else:
            self.wrong(key, f"{_MAP}, the content of the file,")

    def words(self, key: str, value: object) -> None:
        read = self._words(key, value)
        if read is not None:
            self.parts[_WORDS[key]] = read

    def _words(self, key: str, value: object) -> tuple[str, ...] | None:
        if isinstance(value, str):
            words, problems = split_words(value)
            self.problems += problems
            return tuple(words)
        read = [scalar(item) for item in value] if isinstance(value, (list, tuple)) else [None]
        if all(item is not None for item in read):
            return tuple(item for item in read if item is not None)
        self.wrong(key, WORDS)
        return None

    def env(self, key: str, value: object) -> None:
        read = environment(value)
        if read is None:
            self.wrong(key, ENV)
        else:
            self.parts["env"] = read[0]

    def text(self, key: str, value: object) -> None:
        read = scalar(value)
        if read is None:
            self.wrong(key, _TEXT)
        else:
            self.parts[key] = read

    def name(self, key: str, value: object) -> None:
        """Who reads the map gives it its name, which may be another one."""
        if not isinstance(value, str):
            self.wrong(key, _TEXT)

    def image(self, key: str, value: object) -> None:
        if isinstance(value, str):
            self.container["image"] = value
        else:
            self.wrong(key, "an image such as vllm/vllm-openai:v0.32.0")

    def flag(self, key: str, value: object) -> None:
        if isinstance(value, bool):
            self.parts[key] = value
        else:
            self.wrong(key, "true or false")

    def host(self, key: str, value: object) -> None:
        inner = self._inner(key, value, _HOST)
        texts = {name: scalar(inner[name]) for name in ("driver", "gpu", "compute_capability") if name in inner}
        numbers = {name: self.size(f"{key}.{name}", inner[name]) for name in inner if name.startswith("gpu_memory")}
        count = inner.get("gpu_count")
        self.parts["host"] = HostFacts(
            **texts,
            gpu_memory_bytes=next((number for number in numbers.values() if number is not None), None),
            gpu_count=self.count(f"{key}.gpu_count", count) if count is not None else None,
        )

    def described(self, key: str, value: object) -> None:
        inner = self._inner(key, value, _CONTAINER)
        read: dict[str, Any] = {"image": self.container.get("image")}
        for written, item in inner.items():
            place, name = f"{key}.{written}", _OTHER_NAMES.get(written, written)
            if name in _MEASURES:
                field, measure = _MEASURES[name]
                read[field] = measure(self, place, item)
            elif name in {"ports", "publishes"}:
                read["publishes"] = self._publishes(place, item)
            elif name in _CONTAINER_LISTS:
                read[name] = self._words(place, item) or ()
            elif name == "entrypoint":
                read[name] = self._words(place, item)
            elif name == "remove":
                read[name] = item is True
            else:
                read[name] = scalar(item)
        self.container = read

    def unit(self, key: str, value: object) -> None:
        if not isinstance(value, Mapping):
            self.wrong(key, f"{_MAP} of keys of a systemd unit")
            return
        entries: list[tuple[str, str, str]] = []
        for name, item in value.items():
            inner = item.items() if isinstance(item, Mapping) else [(name, item)]
            section = str(name) if isinstance(item, Mapping) else ""
            for each, written in inner:
                values = written if isinstance(written, (list, tuple)) else [written]
                entries += [(section, str(each), scalar(one) or "") for one in values]
        self.parts["unit"] = UnitFile(tuple(entries))

    def _inner(self, key: str, value: object, known: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            self.wrong(key, f"{_MAP} with any of {', '.join(known)}")
            return {}
        for name in value:
            if name not in known:
                self.say(f"{key}.{str(name)[:80]}", "is no part that can be audited", f"one of {', '.join(known)}")
        return {name: item for name, item in value.items() if name in known and item is not None}

    def size(self, place: str, value: object) -> int | None:
        read = size_bytes(value)
        if read is None:
            self.wrong(place, SIZE_EXPECTED)
        return read

    def count(self, place: str, value: object) -> int | None:
        text = scalar(value) or ""
        if text.isdecimal() and len(text) < 10:  # noqa: PLR2004 - no machine has more
            return int(text)
        self.wrong(place, "a whole number")
        return None

    def seconds(self, place: str, value: object) -> float | None:
        read = go_seconds(value)
        if read is None:
            self.wrong(place, "a time such as 90 or 1m30s")
        return read

    def _publishes(self, place: str, value: object) -> tuple[Publish, ...]:
        return tuple(publish(word) for word in self._words(place, value) or ())


_HOST = ("driver", "gpu", "compute_capability", "gpu_memory", "gpu_memory_bytes", "gpu_count")
# As docker run, compose and docker inspect call the same thing.
_OTHER_NAMES = {
    "ipc_mode": "ipc",
    "network_mode": "network",
    "restart_policy": "restart",
    "shm": "shm_size",
    "mem_limit": "memory",
    "stop_grace_period": "stop_timeout",
    "stop_seconds": "stop_timeout",
}
_CONTAINER = (
    *("image", "shm_size", "tensor_parallel_size", "memory", "ports", "publishes", "entrypoint", "remove"),
    "stop_timeout",
    *_OTHER_NAMES,
    *_CONTAINER_TEXTS,
    *_CONTAINER_LISTS,
)
_MEASURES: dict[str, tuple[str, Callable[[_Reader, str, object], float | None]]] = {
    "shm_size": ("shm_bytes", _Reader.size),
    "memory": ("memory_bytes", _Reader.size),
    "stop_timeout": ("stop_seconds", _Reader.seconds),
    "tensor_parallel_size": ("tensor_parallel_size", _Reader.count),
}
_WORDS = {"args": "words", "from_args": "previous_words", "command": "command"}
_READERS: dict[str, Callable[[_Reader, str, Any], None]] = {
    "args": _Reader.words,
    "from_args": _Reader.words,
    "command": _Reader.words,
    "config_file": _Reader.config_file,
    "env": _Reader.env,
    "container": _Reader.described,
    "image": _Reader.image,
    "host": _Reader.host,
    "host_bind": _Reader.text,
    "has_key": _Reader.flag,
    "exposed_without_key": _Reader.flag,
    "unit": _Reader.unit,
    "alert_expr": _Reader.text,
    "log_regex": _Reader.text,
    "name": _Reader.name,
}
KEYS = tuple(_READERS)
