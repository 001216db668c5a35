# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Image references the way Docker reads them.

Private to the collection.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

DOCKER_HUB = "docker.io"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
# Docker's own rule: the first word is a server when it looks like one.
_SERVER = re.compile(r"localhost|.*[.:].*")


@dataclass(frozen=True)
class Reference:
    """An image: ``familiar`` is the name as people write it, ``path`` as the registry's routes want it."""

    server: str
    path: str
    familiar: str
    tag: str | None
    digest: str | None

    @property
    def wanted(self) -> str:
        """What to ask the registry for: the digest when there is one, else the tag."""
        return self.digest or self.tag or "latest"

    @property
    def text(self) -> str:
        """The reference as people write it."""
        tag = f":{self.tag}" if self.tag else ""
        return self.familiar + tag + (f"@{self.digest}" if self.digest else "")


def is_digest(text: str) -> bool:
    """Whether this is a digest that the collection can pin."""
    return bool(_DIGEST.fullmatch(text))


def parse_reference(text: str) -> Reference:
    """Read ``vllm/vllm-openai:v0.32.0``, ``registry.example:5443/a/b@sha256:…``; ValueError says what is wrong."""
    rest, at, digest = text.partition("@")
    if at and not is_digest(digest):
        raise ValueError(f"{text!r} has a digest that is not sha256: and 64 hexadecimal digits")
    name, tag = _split_tag(rest)
    if tag is not None and not _TAG.fullmatch(tag):
        raise ValueError(f"{text!r} has a tag that no registry accepts")
    first, slash, path = name.partition("/")
    server, path = (first, path) if slash and _SERVER.fullmatch(first) else (DOCKER_HUB, name)
    if not _NAME.fullmatch(path):
        raise ValueError(f"{text!r} is not an image name (lower case words, separated by /)")
    return Reference(server, _api_path(server, path), _familiar(server, path), tag, digest or None)


def _split_tag(rest: str) -> tuple[str, str | None]:
    head, colon, tail = rest.rpartition(":")
    return (head, tail) if colon and "/" not in tail else (rest, None)


def _api_path(server: str, path: str) -> str:
    return f"library/{path}" if server == DOCKER_HUB and "/" not in path else path


def _familiar(server: str, path: str) -> str:
    return path if server == DOCKER_HUB else f"{server}/{path}"
