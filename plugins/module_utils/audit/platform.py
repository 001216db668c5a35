# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The driver, the GPU and the image of a release: what does not run together, and what nobody published.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ..config import images
from ..findings import ERROR, Finding
from ..versions import Version
from .case import Case, Rule
from .image_name import CUDA_BUILD, ProjectImage, project_image

DRIVER, GPU, TAG = "DRIVER_TOO_OLD", "GPU_UNSUPPORTED", "TAG_NOT_PUBLISHED"
SOURCE_DRIVER = (
    ".buildkite/release-pipeline.yaml by release; docs.nvidia.com/deploy/cuda-compatibility; "
    "vllm/env_override.py since 0.17.0"
)
SOURCE_GPU = "docs/getting_started/installation/gpu.cuda.inc.md and torch_cuda_arch_list, 0.19.1 and 0.20.0"
SOURCE_TAG = ".buildkite/scripts/publish-release-images.sh by release"
COMPATIBILITY = "VLLM_ENABLE_CUDA_COMPATIBILITY"
_COMPATIBILITY_SINCE = Version(0, 17, 0)
_COMPATIBILITY_LEAST = (535,)
_NO_COMPATIBILITY = re.compile(r"geforce|titan|\b(?:gtx|rtx)[ -]?\d{4}(?!\s*ada)\b", re.IGNORECASE)
_VOLTA_DROPPED = Version(0, 20, 0)
# Only GPUs that some release does not run on need to be known by name.
_BY_NAME = (
    (re.compile(r"\bv100s?\b|\btitan v\b|\bquadro gv100\b", re.IGNORECASE), "7.0"),
    (re.compile(r"\bp100\b", re.IGNORECASE), "6.0"),
    (re.compile(r"\bp40?\b|\bgtx ?10\d\d\b|\btitan xp?\b", re.IGNORECASE), "6.1"),
    (re.compile(r"\bm(?:40|60)\b|\bgtx ?9\d\d\b", re.IGNORECASE), "5.2"),
    (re.compile(r"\bk80\b", re.IGNORECASE), "3.7"),
)


def numbers(text: str | None) -> tuple[int, ...] | None:
    """A number with dots as numbers that compare, or None."""
    text = (text or "").strip()
    return tuple(int(part) for part in text.split(".")) if re.fullmatch(r"\d{1,6}(?:\.\d{1,6}){0,3}", text) else None


def _build(case: Case) -> tuple[ProjectImage | None, Version, str] | None:
    """The image, its release and variant; without an image what the release is built with; None for other builds."""
    container = case.subject.container
    if container is None or not container.image:
        return None, case.version, ""
    image = project_image(case)
    if image is None or image.build != CUDA_BUILD or "rocm" in image.variant:
        return None
    return image, image.version or case.version, image.variant


def driver(case: Case) -> Iterator[Finding]:
    """A driver below what the CUDA of the image needs."""
    host, build = case.subject.host, _build(case)
    have = numbers(host.driver) if host is not None else None
    if host is None or have is None or build is None:
        return
    image, version, variant = build
    cuda = images.cuda(version, variant)
    floor = images.driver_floor(cuda) if cuda else None
    least = numbers(floor)
    if least is None or floor is None or have >= least or _is_compatible(case, version, have):
        return
    instead = _instead(case, image, version, floor, have)
    yield Finding(
        id=DRIVER,
        severity=ERROR,
        subject=case.about(floor),
        message=(
            f"The build of vLLM {version}{variant} has CUDA {cuda}, which needs driver {floor}; the host has "
            f"{host.driver}: no GPU is usable."
        ),
        expected=f"driver {floor} or newer",
        observed=host.driver,
        remedy=f"Use {instead}.",
        source=SOURCE_DRIVER,
        replacement=instead,
    )


def _is_compatible(case: Case, version: Version, have: tuple[int, ...]) -> bool:
    return may_use_compatibility(version, have, _gpu(case)) and asks_for_compatibility(case.subject.env or {})


def asks_for_compatibility(env: Mapping[str, str]) -> bool:
    """Whether CUDA's forward compatibility is asked for; it never comes by itself."""
    return str(env.get(COMPATIBILITY, "")).strip().lower() in {"1", "true"}


def may_use_compatibility(version: Version, have: tuple[int, ...], gpu: str) -> bool:
    """Whether forward compatibility could bridge a driver: on data-centre GPUs, not for any driver."""
    return version >= _COMPATIBILITY_SINCE and have >= _COMPATIBILITY_LEAST and not _NO_COMPATIBILITY.search(gpu)


def _gpu(case: Case) -> str:
    host = case.subject.host
    return (host.gpu or "") if host is not None else ""


def _instead(case: Case, image: ProjectImage | None, version: Version, floor: str, have: tuple[int, ...]) -> str:
    ways = [f"driver >= {floor.partition('.')[0]}"]
    other = images.driver_floor(images.cuda(version, "-cu129") or "") if images.published(version, "-cu129") else None
    if image is not None and other and other != floor and have >= (numbers(other) or (0,)):
        ways.append(f"image v{version}-cu129")
    if may_use_compatibility(version, have, _gpu(case)):
        ways.append(f"{COMPATIBILITY}=1 on a data-centre GPU")
    return " or ".join(ways)


def capability(case: Case) -> Iterator[Finding]:
    """A GPU that the release has no code for."""
    host, build = case.subject.host, _build(case)
    if host is None or build is None:
        return
    version = build[1]
    text = host.compute_capability or next((known for name, known in _BY_NAME if name.search(host.gpu or "")), None)
    have, least = numbers(text), numbers(str(images.least_capability(version)))
    if have is None or least is None or have >= least:
        return
    wanted = ".".join(map(str, least))
    dropped = version >= _VOLTA_DROPPED and have >= (7, 0)
    yield Finding(
        id=GPU,
        severity=ERROR,
        subject=case.about(f"{host.gpu or 'GPU'} {text}"),
        message=(
            f"vLLM {version} runs on compute capability {wanted} and newer; {host.gpu or 'this GPU'} has {text}: "
            "no kernel runs on it."
        ),
        expected=f"compute capability {wanted} or newer",
        observed=text,
        remedy="Stay on 0.19.1 or older on this GPU, or use a newer GPU." if dropped else "Use a newer GPU.",
        source=SOURCE_GPU,
        since=str(_VOLTA_DROPPED) if dropped else None,
        replacement="0.19.1 or older" if dropped else None,
    )


def tag(case: Case) -> Iterator[Finding]:
    """A tag that the release scripts do not publish."""
    image = project_image(case)
    if image is None or image.version is None or image.build != CUDA_BUILD or not image.variant:
        return
    version, variant = image.version, image.variant
    if images.published(version, variant) is not False:
        return
    gone = images.gone_since(variant, version)
    cuda = images.cuda(version, "")
    instead = f"v{version}" + (f" (CUDA {cuda})" if cuda else "") + (f", or a release before {gone}" if gone else "")
    yield Finding(
        id=TAG,
        severity=ERROR,
        subject=case.about(variant),
        message=f"No image {image.tag} is published: vLLM {version} has no variant {variant}, so the pull fails.",
        expected=instead,
        observed=image.tag,
        remedy=f"Use {instead}.",
        source=SOURCE_TAG,
        since=str(gone) if gone else None,
        replacement=instead,
    )


RULES = (
    Rule(DRIVER, ERROR, SOURCE_DRIVER, driver),
    Rule(GPU, ERROR, SOURCE_GPU, capability),
    Rule(TAG, ERROR, SOURCE_TAG, tag),
)
