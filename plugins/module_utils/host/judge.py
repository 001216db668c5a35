# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge a whole host for the services that it shall run.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..findings import ERROR, Finding, failing, worst_first
from ..models.folder import EXPECTED
from .engine import device_request, judge_engine
from .facts import Host
from .gpus import judge_gpus
from .platform import judge_platform
from .ports import judge_ports
from .refusal import sentence
from .room import GIB, image_needs, judge_room, model_needs
from .wanted import Wanted


@dataclass(frozen=True)
class Limits:
    """What the judging goes by. ``engine_expected``: Docker has to be there already."""

    min_memory_gib: float = 4.0
    reserve_gib: float = 5.0
    image_room_factor: float = 3.0
    engine_expected: bool = False


@dataclass(frozen=True)
class Seen:
    """What was found for the services: compressed bytes of images and bytes of models that are not here (None: nobody
    could say), faults of model paths, and what registry and hub said."""

    missing_images: Mapping[str, int | None] = field(default_factory=dict)
    missing_models: Mapping[str, int | None] = field(default_factory=dict)
    model_faults: Mapping[str, str] = field(default_factory=dict)
    findings: Iterable[Finding] = ()


def judge_host(host: Host, services: Iterable[Wanted], seen: Seen, limits: Limits) -> list[Finding]:
    """Return everything that is not as the services need it, the worst first."""
    asked = tuple(services)
    needs = image_needs(asked, host.platform, seen.missing_images, limits.image_room_factor)
    needs += model_needs(asked, seen.missing_models)
    request = device_request(host.engine, host.gpu)
    return worst_first(
        [
            *judge_platform(host, asked, int(limits.min_memory_gib * GIB)),
            *judge_engine(host.engine, limits.engine_expected),
            *_judge_images(host, asked),
            *judge_gpus(host.gpu, request, asked, limits.engine_expected),
            *judge_ports(host, asked),
            *_judge_models(asked, seen.model_faults),
            *seen.findings,
            *judge_room(host, needs, int(limits.reserve_gib * GIB)),
        ]
    )


def failure_text(findings: Iterable[Finding]) -> str:
    """Say all that stops the host in one readable message."""
    errors = failing(findings)
    return "\n".join(
        [
            f"{len(errors)} {'problem' if len(errors) == 1 else 'problems'} on this host:",
            *[f"- {sentence(each)}" for each in errors],
        ]
    )


def _judge_images(host: Host, services: Iterable[Wanted]) -> list[Finding]:
    return [
        Finding(
            "image_platform",
            ERROR,
            f"{service.name}: image {service.pull}",
            f"the image is not made for {host.platform}",
            expected=host.platform,
            observed=sorted(service.platforms),
            remedy="choose an image for this host's processor, then run the lock playbook",
        )
        for service in services
        if service.platforms and host.platform not in service.platforms
    ]


def _judge_models(services: Iterable[Wanted], faults: Mapping[str, str]) -> list[Finding]:
    return [
        Finding(
            "model_path",
            ERROR,
            f"{service.name}: model {service.model.get('name')}",
            faults[service.name],
            expected=EXPECTED,
            remedy="copy the model to this path on the host, or correct model: in the inventory",
        )
        for service in services
        if service.name in faults
    ]
