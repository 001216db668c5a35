# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of a script, also those of a shell within it, and which of them start a server or a container.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..subject import Problem
from .shell import Command, read_shell

_MODULE = re.compile(r"vllm\.entrypoints\.(?:openai\.api_server|cli\.main|launch)")
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_VLLM = re.compile(r"(?:.*/)?vllm")
_FILE = re.compile(r"(?:.*/)?vllm/entrypoints/openai/api_server\.py")
_ENGINE = re.compile(r"(?:.*/)?(?:docker|podman|nerdctl)")
_OTHER_COMMANDS = frozenset({"exec", "compose", "build", "pull", "rm", "stop", "logs"})
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")
_SHELL_TEXT = re.compile(r"-[a-z]*c")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAX_DEPTH = 3


def start_of_server(words: Sequence[str]) -> int | None:
    """Where the server's own words begin in a command that starts one, None where it starts none.

    What stands in front (``uv run``, ``sudo -u vllm``, ``numactl …``) is passed over.
    """
    for at, word in enumerate(words):
        if _VLLM.fullmatch(word) and words[at + 1 : at + 2] == ("serve",):
            return at + 2
        if word == "-m" and at and _PYTHON.fullmatch(words[at - 1]) and _is_module(words[at + 1 : at + 2]):
            after = at + 2
            return after + 1 if words[after : after + 1] == ("serve",) else after
        if _FILE.fullmatch(word):
            return at + 1
    return None


def _is_module(words: Sequence[str]) -> bool:
    return bool(words) and bool(_MODULE.fullmatch(words[0]))


def start_of_run(words: Sequence[str]) -> int | None:
    """Where the options of ``docker run`` begin in a command, None where it is none."""
    engine = next((at for at, word in enumerate(words) if _ENGINE.fullmatch(word)), None)
    for at in range(engine + 1, len(words)) if engine is not None else ():
        if words[at] in {"run", "create"}:
            return at + 1
        if words[at] in _OTHER_COMMANDS:
            return None
    return None


def text_of_shell(words: Sequence[str]) -> str | None:
    """The text of ``bash -c TEXT``, also behind ``env``, ``tini --`` and the like."""
    at = next((at for at, word in enumerate(words) if _SHELL.fullmatch(word)), None)
    if at is None:
        return None
    rest = words[at + 1 :]
    after = next((place for place, each in enumerate(rest) if _SHELL_TEXT.fullmatch(each)), None)
    return None if after is None or after + 1 >= len(rest) else rest[after + 1]


def read_script(text: str) -> tuple[list[Command], list[Problem]]:
    """All commands of a text in their order; a shell's text stands for its commands."""
    problems: list[Problem] = []
    return list(_commands(text, problems, 0)), problems


def _commands(text: str, problems: list[Problem], depth: int) -> Iterator[Command]:
    found, faults = read_shell(text)
    problems += [fault for fault in faults if fault not in problems]
    for command in found:
        words = tuple(command.words)
        known = start_of_server(words) is not None or start_of_run(words) is not None
        inner = None if known or depth >= _MAX_DEPTH else text_of_shell(words)
        if inner is None:
            yield command
            continue
        outer = variables_in_front(command, len(words) - 1)
        for each in _commands(inner, problems, depth + 1):
            yield Command(each.words, {**outer, **each.env}, each.background)


def servers(text: str) -> tuple[list[tuple[tuple[str, ...], dict[str, str]]], dict[str, str], list[Problem]]:
    """The words and variables of every server that a text starts, what it exports, and what could not be read."""
    commands, problems = read_script(text)
    exported: dict[str, str] = {}
    found = []
    for command in commands:
        words = tuple(command.words)
        begin = start_of_server(words)
        if begin is None:
            exported.update(exports(command))
        else:
            found.append((words[begin:], {**exported, **variables_in_front(command, begin)}))
    return found, exported, problems


def variables_in_front(command: Command, begin: int) -> dict[str, str]:
    """The variables that a command sets for what begins there: in front of it, or by ``env`` and ``sudo``."""
    found = dict(command.env)
    names = [word.rpartition("/")[2] for word in command.words[:begin]]
    setters = [names.index(name) for name in ("env", "sudo") if name in names]
    for word in command.words[min(setters) : begin] if setters else ():
        key, equals, value = word.partition("=")
        if equals and _NAME.fullmatch(key):
            found[key] = value
    return found


def exports(command: Command) -> dict[str, str]:
    """The variables that a command of a script leaves set for those after it."""
    if not command.words:
        return dict(command.env)
    if command.words[0] not in {"export", "declare"}:
        return {}
    split = [word.partition("=") for word in command.words[1:]]
    return {key: value for key, equals, value in split if equals}
