# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A systemd unit whose ExecStart runs vLLM, by itself or in a container.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ...versions import Version
from ..errors import AuditError
from ..subject import UNIT, Problem, Subject, UnitFile
from .docker_run import subject_of_run
from .inside import Inside, read_inside
from .reach import reached_on
from .run_options import read_run_line
from .script import read_script, start_of_run, start_of_server, variables_in_front
from .shell import Command, split_words
from .unit_text import read_unit_text

_SERVICE = "Service"
_PREFIX = re.compile(r"^[@:+!|-]+")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*)(?=\s|$))")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read_unit(text: str, version: Version, name: str | None = None) -> Subject:
    """The unit as a subject; AuditError where the text has no entry of a unit."""
    unit, problems = read_unit_text(text)
    if not unit.entries:
        raise AuditError("the text has no entry of a systemd unit; expected [Service] with ExecStart=")
    env = environment_of(unit)
    base = Subject(UNIT, name or UNIT, env=env or None, unit=unit, raw_text=text, problems=problems)
    start = unit.last("ExecStart", _SERVICE)
    if start is None:
        return base
    words, wrong = split_words(_filled(_PREFIX.sub("", start), env))
    return _of_start(replace(base, problems=(*problems, *wrong)), tuple(words), version)


def environment_of(unit: UnitFile) -> dict[str, str]:
    """The variables of every ``Environment=``; a later one wins."""
    words = (word for line in unit.all("Environment", _SERVICE) for word in split_words(line)[0])
    split = (word.partition("=") for word in words)
    return {name: value for name, equals, value in split if equals and _NAME.fullmatch(name)}


def _filled(line: str, env: Mapping[str, str]) -> str:
    """The line with the variables that the unit itself sets; others stay as they are written."""

    def value(found: re.Match[str]) -> str:
        name = found.group(1) or found.group(2)
        return env[name] if name in env and "'" not in env[name] and '"' not in env[name] else found.group(0)

    return _VARIABLE.sub(value, line).replace("$$", "$")


def _of_start(base: Subject, words: tuple[str, ...], version: Version) -> Subject:
    begin = start_of_run(words)
    inside = Inside(None) if begin is not None else read_inside((), words)
    scripts: list[Problem] = []
    if begin is None:
        words, begin, scripts = _run_in_script(inside, words)
    if begin is not None:
        found = subject_of_run(read_run_line(words[begin:]), version, base.name, base.raw_text or "")
        shell = tuple(dict.fromkeys((*inside.shell_text, *found.shell_text)))
        problems = (*base.problems, *scripts, *found.problems)
        return replace(found, kind=UNIT, unit=base.unit, shell_text=shell, problems=problems)
    at = start_of_server(words)
    front = variables_in_front(Command(list(words)), at) if at is not None else {}
    env = {**(base.env or {}), **inside.env, **front}
    return replace(
        base,
        words=inside.words,
        env=env or None,
        host_bind=reached_on(inside.words, version),
        shell_text=inside.shell_text,
        problems=(*base.problems, *inside.problems),
    )


def _run_in_script(inside: Inside, words: tuple[str, ...]) -> tuple[tuple[str, ...], int | None, list[Problem]]:
    """The ``docker run`` in the text of a shell, where there is one and the text starts no server by itself."""
    for text in inside.shell_text if inside.words is None else ():
        commands, problems = read_script(text)
        for command in commands:
            begin = start_of_run(command.words)
            if begin is not None:
                return tuple(command.words), begin, problems
    return words, None, []
