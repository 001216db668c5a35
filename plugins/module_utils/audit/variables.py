# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Environment variables that the version does not read: removed, not there yet, unknown; and values it cannot read.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..config import history
from ..findings import ERROR, INFO, WARNING, Finding
from ..versions import Version
from .case import Case, Rule
from .hiding import hidden_value
from .image_name import CUDA_BUILD, project_image

_SOURCE = "vllm/envs.py of the releases"
_WARNS = Version(0, 17)
_SETS_UNKNOWN = (Version(0, 21), Version(0, 26))
# What images set for themselves is not the user's.
_OF_IMAGES = re.compile(r"VLLM_(?:BUILD_\w+|IMAGE_TAG|USAGE_SOURCE|NO_USAGE_STATS)")
# Kubernetes sets these for a service that is named vllm.
_OF_KUBERNETES = re.compile(r"VLLM_(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_\w+)")
_WHOLE = re.compile(r"[+-]?[0-9](?:_?[0-9])*")


def _is_fatal(case: Case) -> bool:
    return case.version >= _WARNS and bool(case.line and case.line.has("--fail-on-environ-validation"))


def _absent(case: Case) -> Iterator[tuple[str, str, history.History | None]]:
    for name, value in sorted((case.subject.env or {}).items()):
        known = history.variable(name)
        if not (known and known.present(case.version)) and not _OF_IMAGES.fullmatch(name):
            yield name, value, known


def _happens(case: Case) -> str:
    if _is_fatal(case):
        return "the engine does not start, because of --fail-on-environ-validation"
    said = "a warning at the start and then nothing" if case.version >= _WARNS else "it is ignored in silence"
    return f"what it asked for does not happen ({said})"


def _severity(case: Case) -> str:
    return ERROR if _is_fatal(case) else WARNING


def removed(case: Case) -> Iterator[Finding]:
    """Variables that an earlier release read."""
    for name, value, known in _absent(case):
        since = known.removed_since(case.version) if known else None
        if known is None or since is None:
            continue
        instead = known.replacement_for(hidden_value(name, value), case.version)
        yield Finding(
            "ENV_REMOVED",
            _severity(case),
            case.about(name),
            f"vLLM does not read {name} since {since}: {_happens(case)}",
            expected=f"a variable that vLLM {case.version} reads",
            observed=name,
            remedy=f"take it out and use {instead}" if instead else "take it out",
            source=known.source or _SOURCE,
            since=str(since),
            replacement=instead,
        )


def not_yet(case: Case) -> Iterator[Finding]:
    """Variables that a later release reads."""
    for name, _value, known in _absent(case):
        since = known.appears_in(case.version) if known else None
        if known is None or since is None or not name.startswith("VLLM_") or known.removed_since(case.version):
            continue
        yield Finding(
            "ENV_NOT_YET",
            _severity(case),
            case.about(name),
            f"{name} comes with vLLM {since}, vLLM {case.version} does not read it: {_happens(case)}",
            observed=name,
            remedy=f"take it out, or run vLLM {since} or newer",
            source=known.source or _SOURCE,
            since=str(since),
        )


def unknown(case: Case) -> Iterator[Finding]:
    """VLLM_* names that no release reads; other programs own the other names."""
    guessed: set[str] = set()
    for name, _value, known in _absent(case):
        if known is not None or not name.startswith("VLLM_") or _OF_KUBERNETES.fullmatch(name):
            continue
        guessed.add(name)
        near = history.nearest_variable(name) if len(guessed) <= history.MOST_GUESSES else None
        severity = _severity(case) if case.version >= _WARNS or near else INFO
        yield Finding(
            "ENV_UNKNOWN",
            severity,
            case.about(name),
            f"no release of vLLM that was read knows {name}: {_happens(case)}",
            expected=near,
            observed=name,
            remedy=f"is {near} meant?" if near else "take it out; a plugin's own variable needs another prefix",
            source=f"{_SOURCE}, validate_environ since 0.17.0",
            replacement=near,
        )


def form(case: Case) -> Iterator[Finding]:
    """A whole number is wanted where the default is one."""
    for name, value in sorted((case.subject.env or {}).items()):
        known = history.variable(name) if name.startswith("VLLM_") else None
        if known is None or not known.present(case.version) or not value.strip() or "$" in value:
            continue
        default = str(known.default(case.version).value)
        if _WHOLE.fullmatch(default) and not re.fullmatch(r"\s*[+-]?[0-9][0-9_.eE+-]*\s*", value):
            yield Finding(
                "env_value_form",
                ERROR,
                case.about(name),
                f"{name} is read as a number (default {default}); what it holds is none, and the engine does not start",
                expected="a number",
                remedy=f"set a number, or take {name} out",
                source=known.source or _SOURCE,
            )


def image_sets_unknown(case: Case) -> Iterator[Finding]:
    """Images that set variables which their own release does not know, where that is made fatal."""
    image = project_image(case)
    if image is None or image.build != CUDA_BUILD or not _is_fatal(case):
        return
    if _SETS_UNKNOWN[0] <= (image.version or case.version) < _SETS_UNKNOWN[1]:
        yield Finding(
            "image_fails_environ_validation",
            WARNING,
            case.about("--fail-on-environ-validation"),
            "the image sets VLLM_BUILD_COMMIT, VLLM_BUILD_PIPELINE, VLLM_BUILD_URL and VLLM_IMAGE_TAG, which its "
            f"vLLM {case.version} does not know: with --fail-on-environ-validation it does not start",
            expected="vLLM 0.26.0 or newer",
            observed=image.tag,
            remedy="take --fail-on-environ-validation out until vLLM 0.26.0",
            source="docker/Dockerfile and vllm/envs.py of 0.21.0 to 0.26.0; not run",
        )


RULES = (
    Rule("image_fails_environ_validation", WARNING, _SOURCE, image_sets_unknown),
    Rule("ENV_REMOVED", WARNING, _SOURCE, removed),
    Rule("ENV_NOT_YET", WARNING, _SOURCE, not_yet),
    Rule("ENV_UNKNOWN", WARNING, _SOURCE, unknown),
    Rule("env_value_form", ERROR, _SOURCE, form),
)
