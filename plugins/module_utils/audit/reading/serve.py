# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A line or a script that starts the server by itself: ``vllm serve``, or the module of the server.

Private to the collection.
"""

from __future__ import annotations

from ...versions import Version
from ..errors import AuditError
from ..subject import SERVE, Subject
from .reach import reached_on
from .script import servers


def read_serves(text: str, version: Version, name: str | None = None) -> tuple[Subject, ...]:
    """Every server that a text starts, each with the variables that were exported before."""
    found, _exported, problems = servers(text)
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
