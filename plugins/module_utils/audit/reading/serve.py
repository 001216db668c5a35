# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A line that starts the server by itself: ``vllm serve``, or the module of the server.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...versions import Version
from ..errors import AuditError
from ..subject import SERVE, Subject
from .reach import reached_on
from .shell import Command, read_shell

_MODULE = re.compile(r"vllm\.entrypoints\.(?:openai\.api_server|cli\.main|launch)")
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_VLLM = re.compile(r"(?:.*/)?vllm")
_SCRIPT = re.compile(r"(?:.*/)?vllm/entrypoints/openai/api_server\.py")


def served_words(command: Sequence[str]) -> tuple[str, ...]:
    """What the server gets of a command: all of it, where it does not begin with the server's own name."""
    words = tuple(command)
    begin = start_of_server(words)
    if begin is not None:
        return words[begin:]
    return words[1:] if words[:1] == ("serve",) else words


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
        if _SCRIPT.fullmatch(word):
            return at + 1
    return None


def _is_module(words: Sequence[str]) -> bool:
    return bool(words) and bool(_MODULE.fullmatch(words[0]))


def variables_in_front(command: Command, begin: int) -> dict[str, str]:
    """The variables that a command sets for the server: in front of it, or by ``env``."""
    found = dict(command.env)
    names = [word.rpartition("/")[2] for word in command.words[:begin]]
    if "env" in names or "sudo" in names:
        after = min(names.index(name) for name in ("env", "sudo") if name in names)
        for word in command.words[after:begin]:
            key, equals, value = word.partition("=")
            if equals and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", key):
                found[key] = value
    return found


def read_serves(text: str, version: Version, name: str | None = None) -> tuple[Subject, ...]:
    """Every server that a line or a script starts, each with the variables that the script exported before."""
    commands, problems = read_shell(text)
    exported: dict[str, str] = {}
    found = []
    for command in commands:
        words = tuple(command.words)
        begin = start_of_server(words)
        if begin is None:
            exported.update(exports(command))
        else:
            found.append((words[begin:], {**exported, **variables_in_front(command, begin)}))
    if not found:
        raise AuditError("no command of the text starts vLLM; expected `vllm serve MODEL ...`")
    named = name or SERVE
    return tuple(
        Subject(
            kind=SERVE,
            name=f"{named} {number}" if len(found) > 1 else named,
            words=words,
            env=env,
            host_bind=reached_on(words, version),
            raw_text=text,
            problems=tuple(problems),
        )
        for number, (words, env) in enumerate(found, start=1)
    )


def exports(command: Command) -> dict[str, str]:
    """The variables that a command of a script leaves set for those after it."""
    if not command.words:
        return dict(command.env)
    if command.words[0] not in {"export", "declare"}:
        return {}
    split = [word.partition("=") for word in command.words[1:]]
    return {key: value for key, equals, value in split if equals}
