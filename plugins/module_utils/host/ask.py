# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask registry and hub for what is not on the host yet, before anything changes; asking itself is the caller's.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ..findings import INFO, Finding
from ..models.answers import Asked
from ..models.hub import list_files
from ..models.snapshot import missing_bytes, needed_files
from ..registry.reference import parse_reference
from ..registry.resolve import Get, resolve
from ..registry.settings import RegistrySettings
from .refusal import Refusal
from .wanted import Wanted

# What a question without a token cannot decide: the role that fetches asks again, with the token.
_NEEDS_TOKEN = ("hub_auth",)


@dataclass
class Answers:
    """Bytes by image and by service (None: nobody could say), and what went wrong."""

    image_bytes: dict[str, int | None] = field(default_factory=dict)
    model_bytes: dict[str, int | None] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def ask_registry(
    pulls: Mapping[str, Sequence[str]], platform: str, settings: RegistrySettings, get: Get, answers: Answers
) -> None:
    """Ask if the registry has each image, and what it moves for this platform; ``pulls`` has the services of each."""
    for pull, names in pulls.items():
        try:
            resolved = resolve(parse_reference(pull), settings, get)
        except Refusal as stop:
            answers.findings.append(replace(stop.finding, subject=f"{', '.join(names)}: image {pull}"))
        else:
            answers.image_bytes[pull] = (resolved.platforms.get(platform) or {}).get("compressed_bytes")


def ask_hub(service: Wanted, endpoint: str, cached: Mapping[str, int], get: Get, answers: Answers) -> None:
    """Ask if the hub has the service's model, and what of it is still to be fetched."""
    name, revision = str(service.model["name"]), str(service.model.get("revision") or "main")
    asked = Asked(f"{service.name}: model {name}", endpoint.rstrip("/"), name, revision, has_token=False)
    answers.model_bytes[service.name] = None
    try:
        files = needed_files(list_files(asked, None, get).files)
    except Refusal as stop:
        told = stop.finding
        answers.findings.append(replace(told, severity=INFO) if told.id in _NEEDS_TOKEN else told)
    else:
        answers.model_bytes[service.name] = missing_bytes(files, cached)
