# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A command that the image's own entry point takes another way.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..config import images
from ..findings import ERROR, Finding
from .case import Case, Rule
from .hiding import hide
from .image_name import project_image

ID = "ENTRYPOINT_MISMATCH"
SOURCE = "docker/Dockerfile of 0.11.0 and 0.11.1: the entry point was the api_server module, and is `vllm serve` since"
SINCE = "0.11.1"
_SERVE = ("vllm", "serve")


def check(case: Case) -> Iterator[Finding]:
    """A positional model before 0.11.1, ``serve`` said twice from there on."""
    command, image, container = case.subject.command, project_image(case), case.subject.container
    if not command or image is None or container is None or container.entrypoint is not None:
        return
    version = image.version or case.version
    said = _repeated(command)
    if images.serve_is_entrypoint(version):
        if said:
            rest = " ".join(hide(command[len(said) :]))
            yield _finding(
                case, " ".join(said), f"adds `{' '.join(said)}` to the `vllm serve` that the image already runs", rest
            )
    elif said:
        model = next((word for word in command[len(said) :] if not word.startswith("-")), "MODEL")
        yield _finding(
            case, " ".join(said), "is given to the api_server module, which takes options only", f"--model {model}"
        )
    elif _has_positional_model(case, command):
        model = case.line.model if case.line is not None and case.line.model else command[0]
        yield _finding(
            case, "positional model", f"names {model} without --model, which this image refuses", f"--model {model}"
        )


def _repeated(command: tuple[str, ...]) -> tuple[str, ...]:
    for words in (_SERVE, _SERVE[1:]):
        if command[: len(words)] == words:
            return words
    return ()


def _has_positional_model(case: Case, command: tuple[str, ...]) -> bool:
    if case.line is not None:
        return case.line.model_is_positional
    return not command[0].startswith("-")


def _finding(case: Case, part: str, what: str, instead: str) -> Finding:
    return Finding(
        id=ID,
        severity=ERROR,
        subject=case.about(part),
        message=f"The command {what}: the server exits at once with status 2, and a restart policy repeats that.",
        expected=instead,
        observed=" ".join(hide(case.subject.command or ()))[:200],
        remedy=f"Write the command as: {instead}" if instead else "Give the model as the first word.",
        source=SOURCE,
        since=SINCE,
        replacement=instead or None,
    )


RULES = (Rule(ID, ERROR, SOURCE, check),)
