# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Code that comes with a model: which commit of it runs.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...config.command_line import CommandLine
from ...findings import WARNING
from ..case import Case
from .saying import Said, line_rule
from .values import is_commit, is_path, is_true

_OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


def _is_offline(case: Case) -> bool:
    env = case.subject.env or {}
    return any(is_true(env.get(name)) for name in _OFFLINE)


@line_rule(
    "trust_remote_code_unpinned",
    WARNING,
    "vllm/config/model.py (trust_remote_code, revision, code_revision) 0.11.1, 0.19.1, 0.33.0",
)
def _unpinned(case: Case, line: CommandLine) -> Iterator[Said]:
    model = line.model or ""
    if not line.has("--trust-remote-code") or not model or is_path(model) or _is_offline(case):
        return
    for part in ("--revision", "--code-revision"):
        revision = line.value(part)
        if is_commit(revision) or (part == "--code-revision" and revision is None):
            continue
        what = f"{part} {revision} is no commit" if revision else "no --revision is given"
        yield Said(
            part,
            f"code of {model} runs in the engine, and {what}: the next start may run code that nobody has read",
            "pin --revision to the commit that was reviewed (40 hex digits); --code-revision too, "
            "where the code is in another repository",
            expected="a commit",
            observed=revision,
        )


RULES = (_unpinned,)
