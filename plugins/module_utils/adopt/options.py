# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The words of a running server as the keys of a service definition, as its release reads them.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..config import options as known
from ..config.command_line import AMBIGUOUS, UNKNOWN, CommandLine, Given
from ..config.file_words import CONFIG, with_file
from ..config.line_reader import read_command_line
from ..config.options import option
from ..findings import ERROR, INFO, WARNING
from ..services.owned import REFUSED_OPTIONS
from ..services.secrecy import secret_option
from ..versions import Version
from .notes import Notes, reads_secret

_KEYS = {"api-key": "VLLM_API_KEY", "hf-token": "HF_TOKEN"}
# What becomes a key of its own, or is told where that key is made.
_ELSEWHERE = ("model", "model-tag", "host", "port", "revision", "config")
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")


@dataclass(frozen=True)
class Options:
    """What the words say: the model as it was written, the place to listen, and all other options."""

    model: str | None = None
    revision: str | None = None
    host: str | None = None
    port: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)


def read_options(words: Sequence[str], version: Version, content: Mapping[str, Any] | None, notes: Notes) -> Options:
    """Read the words; ``content`` is the file of ``--config``, where it could be read."""
    line = read_command_line(words, version)
    if line.has(CONFIG):
        _say_file(content is not None, notes)
        line = read_command_line(with_file(words, content, version), version) if content is not None else line
    _say_strays(line, notes)
    config: dict[str, Any] = {}
    for name in dict.fromkeys(given.name for given in line.given):
        _one(name, line, version, config, notes)
    return Options(line.model, line.value("--revision"), line.value("--host"), line.value("--port"), config)


def _one(name: str, line: CommandLine, version: Version, config: dict[str, Any], notes: Notes) -> None:
    given = [each for each in line.given if each.name == name]
    key = name.lstrip("-").replace("_", "-")
    if key in _KEYS or secret_option(key) or any(reads_secret(text) for each in given for text in each.values):
        _secret(key, given, notes)
    elif key in _ELSEWHERE:
        return
    elif key in REFUSED_OPTIONS:
        say = f"--{key} is not carried over; instead: {REFUSED_OPTIONS[key]}"
        notes.say("option_refused", WARNING if key == "download-dir" else ERROR, say, about=f"--{key}")
    elif any(each.how == AMBIGUOUS for each in given) or not _NAME.fullmatch(key):
        notes.say(
            "option_unreadable",
            ERROR,
            "no option of this release has this name alone; write it by hand",
            about=given[0].written[:60],
        )
    else:
        config[key] = _value(key, given, line, version)
        if given[-1].how == UNKNOWN:
            notes.say(
                "option_unknown",
                WARNING,
                "no release that is known has it; it is carried over as it was written",
                about=f"--{key}",
            )


def _secret(key: str, given: Sequence[Given], notes: Notes) -> None:
    values = [text for each in given for text in each.values]
    name = _KEYS.get(key)
    for number, value in enumerate(values):
        notes.hide(f"--{key} {number}", value)
    if name is None:
        remedy = "look for a variable that the engine reads it from, and put that one into vllm_secrets"
        notes.say("secret_in_option", ERROR, "holds a secret and is not carried over", remedy, about=f"--{key}")
    elif values:
        notes.secret(name, values[0], f"--{key}")
        if len(values) > 1:
            message = f"has {len(values)} keys, and {name} holds one: the clients of the others are refused"
            notes.say("several_keys", WARNING, message, about=f"--{key}")


def _value(key: str, given: Sequence[Given], line: CommandLine, version: Version) -> Any:
    last = given[-1]
    if any(each.path for each in given):
        return line.mapping(last.name)
    if last.negated:
        return False
    if not last.values:
        return True
    return _READERS.get(option(key, version).kind, _plain)(given, last.values)


def _append(given: Sequence[Given], _values: tuple[str, ...]) -> Any:
    return [typed(text) for each in given for text in each.values]


def _list(_given: Sequence[Given], values: tuple[str, ...]) -> Any:
    return [typed(text) for text in values]


def _json(_given: Sequence[Given], values: tuple[str, ...]) -> Any:
    try:
        found = json.loads(values[0])
    except (ValueError, RecursionError):
        return values[0]
    return found if isinstance(found, (dict, list)) else values[0]


def _text(_given: Sequence[Given], values: tuple[str, ...]) -> Any:
    return values[0]


def _plain(_given: Sequence[Given], values: tuple[str, ...]) -> Any:
    return typed(values[0]) if len(values) == 1 else [typed(text) for text in values]


_READERS = {
    known.APPEND: _append,
    known.LIST: _list,
    known.JSON: _json,
    known.JSON_LIST: _json,
    known.COMMA: _text,
}


def typed(text: str) -> int | float | str:
    """A number where writing the number gives the same text again."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and repr(float(text)) == text:
        return float(text)
    return text


def _say_file(was_read: bool, notes: Notes) -> None:
    if was_read:
        notes.say("config_file", INFO, "its options were taken from the file that it names", about=CONFIG)
    else:
        remedy = "write the options of the file under config:, each by its own name"
        notes.say("config_file", ERROR, "names a file that could not be read", remedy, about=CONFIG)


def _say_strays(line: CommandLine, notes: Notes) -> None:
    for fault in line.faults:
        notes.say(
            "word_unreadable",
            WARNING,
            f"the engine's words: {fault.message}; it is left out or as written",
            about=fault.written.partition("=")[0][:60] if fault.written.startswith("-") else "",
        )
    if any(word.startswith("$") for word in line.extras):
        message = "a shell variable stands among the words of the engine; what it held is not known"
        notes.say("shell_variable", ERROR, message)
