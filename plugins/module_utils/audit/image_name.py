# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""An image of the vLLM project, as its name says: which build it is, which release, which variant.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..registry.reference import parse_reference
from ..versions import Version, version_of_tag
from .case import Case

CUDA_BUILD = "vllm-openai"
_BUILDS = ("vllm/vllm-openai", "vllm/vllm-openai-rocm", "vllm/vllm-openai-cpu", "vllm/vllm-openai-xpu")


@dataclass(frozen=True)
class ProjectImage:
    """``variant`` is what follows the release in the tag (``-cu129``), empty for the plain one."""

    build: str
    tag: str | None
    version: Version | None
    variant: str


def project_image(case: Case) -> ProjectImage | None:
    """The image of a case where it is one of the project's own or a mirror of it, else None."""
    container = case.subject.container
    if container is None or not container.image:
        return None
    try:
        reference = parse_reference(container.image.strip())
    except ValueError:
        return None
    build = next((name for name in _BUILDS if f"/{reference.path}".endswith(f"/{name}")), None)
    if build is None:
        return None
    tag = reference.tag
    version = version_of_tag(tag) if tag else None
    dash = (tag or "").find("-") if version else -1
    return ProjectImage(build.rpartition("/")[2], tag, version, (tag or "")[dash:] if dash > 0 else "")
