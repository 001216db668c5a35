# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What runs inside a container: the server's words, given its image's entry point, another one, or a shell.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..subject import Problem
from .script import servers, start_of_server, text_of_shell


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
    begin = start_of_server(whole)
    text = text_of_shell(whole) if begin is None else None
    if text is not None:
        found, exported, problems = servers(text)
        words, env = found[0] if found else (None, exported)
        return Inside(words, own, env, (text,), tuple(problems))
    if entrypoint is None:
        return Inside(served_words(command), own)
    return Inside(None if begin is None else whole[begin:])


def served_words(command: Sequence[str]) -> tuple[str, ...]:
    """What the server gets of a command: all of it, where it does not begin with the server's own name."""
    words = tuple(command)
    begin = start_of_server(words)
    if begin is not None:
        return words[begin:]
    return words[1:] if words[:1] == ("serve",) else words
