# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Text that a shell or compose reads differently from what was meant.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...findings import INFO, WARNING
from ..case import Case
from ..rules.saying import Said, case_rule
from ..subject import COMPOSE, DOCKER_RUN
from .shown import docker_runs

_INTERPOLATION = "https://docs.docker.com/reference/compose-file/interpolation/"
# What only a shell knows: a command substitution, its own parameters, or a variable that the same script sets.
_SHELL_ONLY = re.compile(r"(?<!\$)\$(?:\(|[?!@*#0-9]|(?:HOSTNAME|RANDOM|PPID)\b)")
_SHELL_KEY = re.compile(r"\s*(?:command|entrypoint|environment)\s*:")
_SET = re.compile(r"(?:^|[\s;&])(?:export\s+|for\s+)?([A-Za-z_][A-Za-z0-9_]*)(?:=\$\$|=\$?\(| in )")


@case_rule("compose_version_key_obsolete", INFO, "https://docs.docker.com/reference/compose-file/version-and-name/")
def _version(case: Case) -> Iterator[Said]:
    if case.subject.compose_version_key is not None:
        yield Said(
            "version",
            "compose warns of the key and ignores it",
            "take the line out",
            observed=case.subject.compose_version_key,
        )


def _interpolated(raw: str) -> str:
    """The lines of the keys whose text a shell or the server gets; comments are left out."""
    kept: list[str] = []
    depth: int | None = None
    for line in raw.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        indent = len(line) - len(line.lstrip())
        if _SHELL_KEY.match(line):
            depth = indent
        elif depth is not None and indent <= depth and not line.lstrip().startswith("- "):
            depth = None
        if depth is not None:
            kept.append(line)
    return "\n".join(kept)


@case_rule("dollar_not_escaped_in_compose", WARNING, _INTERPOLATION)
def _dollar(case: Case) -> Iterator[Said]:
    if case.subject.kind != COMPOSE:
        return
    shown = _interpolated(case.subject.raw_text or "")
    own = set(_SET.findall(shown))
    used = [name for name in re.findall(r"(?<!\$)\$\{?([A-Za-z_][A-Za-z0-9_]*)", shown) if name in own]
    if _SHELL_ONLY.search(shown) or used:
        yield Said(
            "$" + (used[0] if used else ""),
            "compose expands the $ before a shell sees it: the file is refused, or the shell gets an empty text",
            "write $$ where the shell of the container is meant",
        )


@case_rule("unquoted_image_and_pwd", WARNING, "sh(1): field splitting; seen in published units")
def _unquoted(case: Case) -> Iterator[Said]:
    if case.subject.kind != DOCKER_RUN:
        return
    for run in docker_runs(case):
        bare = re.sub(r"\"[^\"]*\"|'[^']*'", "", run)
        found = re.search(r"\$\(pwd\)|`pwd`|\$\{?PWD\}?|\$\{?[A-Z_]*IMAGE[A-Z_]*\}?", bare)
        if found:
            yield Said(
                found.group(0),
                f"{found.group(0)} is not quoted: with a space in it, docker takes the wrong image",
                f'write "{found.group(0)}", in quotes',
            )
            return


RULES = (_version, _dollar, _unquoted)
