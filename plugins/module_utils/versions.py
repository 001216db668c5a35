# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""vLLM release numbers: read them, compare them, find them in an image tag.

Private to the collection.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_RELEASE = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:\.?(rc|post|dev)(\d+))?(?:\+[0-9A-Za-z.]+)?")
_STAGE = {"dev": -2, "rc": -1, None: 0, "post": 1}


class Version(NamedTuple):
    """A release as numbers that compare in release order; a local part such as ``+cpu`` is left out."""

    major: int
    minor: int
    patch: int = 0
    extra: int = 0
    stage: int = 0
    stage_number: int = 0

    def __str__(self) -> str:
        """Write the release the way vLLM does: ``0.32.0``, ``0.8.5.post1``, ``0.10.1.1``."""
        text = f"{self.major}.{self.minor}.{self.patch}" + (f".{self.extra}" if self.extra else "")
        stage = {-2: ".dev", -1: "rc", 0: "", 1: ".post"}[self.stage]
        return text + (f"{stage}{self.stage_number}" if self.stage else "")


def parse_version(text: str) -> Version:
    """Read ``0.32.0``, ``v0.32.0``, ``0.32.0+cpu``, ``0.8.5.post1``, ``0.31.0rc2``; ValueError for anything else."""
    match = _RELEASE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"not a vLLM release number: {text!r}")
    major, minor, patch, extra, stage, number = match.groups()
    return Version(int(major), int(minor), int(patch or 0), int(extra or 0), _STAGE[stage], int(number or 0))


def version_of_tag(tag: str) -> Version | None:
    """The release that an image tag names (``v0.32.0``, ``v0.32.0-cu129``), or None when it does not say one."""
    head = tag.split("-", 1)[0]
    try:
        return parse_version(head) if head[:1] in "v0123456789" and head else None
    except ValueError:
        return None
