# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is known of vLLM releases that print or keep the key that they are given.

Read in the published packages of 0.11.1, 0.11.2, 0.12.0, 0.13.0, 0.28.0, 0.29.0, 0.30.0, 0.31.0 and 0.32.0: from 0.12
to 0.28 all variables, VLLM_API_KEY among them, go to ``cache_key_factors.json`` beside the compile cache, and at DEBUG
into the log. Up to 0.28 a key given as an option shows in the log too; no definition can hold one.
Private to the collection.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..findings import WARNING, Finding
from ..versions import Version
from .exposure import API_KEY
from .problems import EXPOSURE, Complaints

LEVEL = "VLLM_LOGGING_LEVEL"
FIRST, FIXED = Version(0, 12), Version(0, 29)


def keeps_keys(version: Version | None, secret_names: Collection[str]) -> bool:
    """Whether an engine of this release writes the key of this service down."""
    return version is not None and FIRST <= version < FIXED and API_KEY in secret_names


def judge_level(
    env: Mapping[str, str], version: Version | None, secret_names: Collection[str], complaints: Complaints
) -> None:
    """Complain of a log level at which the release prints the service's key."""
    level = env.get(LEVEL, "")
    if level.strip().upper() == "DEBUG" and keeps_keys(version, secret_names):
        allowed = f"INFO, WARNING or ERROR: vLLM {version} prints {API_KEY} at DEBUG; {FIXED} and newer do not"
        complaints.at(f"env.{LEVEL}", level, allowed, rank=EXPOSURE)


def key_note(service: str, version: Version, secret_names: Collection[str]) -> list[Finding]:
    """Warn of a release that writes the key beside its compile cache."""
    if not keeps_keys(version, secret_names):
        return []
    return [
        Finding(
            id="key_in_compile_cache",
            severity=WARNING,
            subject=service,
            message=f"vLLM {version} writes {API_KEY} beside its compile cache, and compiles anew for another key; "
            "the value is taken out as soon as it serves, and nobody but its user can read it until then",
            expected=f"vLLM {FIXED} or newer",
            observed=str(version),
            remedy="use a newer image",
        )
    ]
