# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What runs inside a container: the server's words, given its image's entry point, another one, or a shell.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..subject import Problem
from .serve import exports, served_words, start_of_server, variables_in_front
from .shell import read_shell

_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")
_SHELL_TEXT = re.compile(r"-[a-z]*c")


@dataclass(frozen=True)
class Inside:
    """``words`` is None where the container does not start a server, or nobody can tell.

    ``command`` are the words that the image's own entry point gets, None where another one is set.
    """

    words: tuple[str, ...] | None
    command: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    shell_text: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_inside(entrypoint: Sequence[str] | None, command: Sequence[str]) -> Inside:
    """Read entry point and command together; ``entrypoint`` None is that of the image, which starts the server."""
    whole = (*(entrypoint or ()), *command)
    own = None if entrypoint is not None else tuple(command)
    text = _text_of_shell(whole)
    if text is not None:
        return _of_shell(text, own)
    if entrypoint is None:
        return Inside(served_words(command), own)
    begin = start_of_server(whole)
    return Inside(None if begin is None else whole[begin:])


def _text_of_shell(words: Sequence[str]) -> str | None:
    """The text of ``bash -c TEXT``, also behind ``env``, ``tini --`` and the like."""
    for at, word in enumerate(words[:-1]):
        if _SHELL.fullmatch(word):
            rest = words[at + 1 :]
            after = next((place for place, each in enumerate(rest) if _SHELL_TEXT.fullmatch(each)), None)
            return None if after is None or after + 1 >= len(rest) else rest[after + 1]
        if not word.startswith("-") and start_of_server(words[at : at + 3]) is not None:
            return None
    return None


def _of_shell(text: str, own: tuple[str, ...] | None) -> Inside:
    commands, problems = read_shell(text)
    exported: dict[str, str] = {}
    for command in commands:
        begin = start_of_server(tuple(command.words))
        if begin is not None:
            env = {**exported, **variables_in_front(command, begin)}
            return Inside(tuple(command.words[begin:]), own, env, (text,), tuple(problems))
        exported.update(exports(command))
    return Inside(None, own, exported, (text,), tuple(problems))
