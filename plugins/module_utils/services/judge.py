# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge everything that the inventory says of one host, and give its services as the playbooks take them.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from ..findings import INFO, Finding
from ..lock import COMMAND, Lock, LockError, parse_lock
from ..registry.options import REGISTRY_OPTION
from .audited import audit_services
from .content import service_entry
from .images import looks_like_image
from .leaks import masked, secret_values
from .merge import merged
from .model import Service
from .parse import parse_services
from .plain import plain
from .printed_keys import key_note
from .problems import UNLOCKED, Complaints, Problem, ServicesError, kind_of
from .schema import ABSENT
from .secrecy import looks_secret
from .waivers import for_host, read_waivers

EXTRA = "vllm_extra_services"
_KINDS: dict[str, tuple[type, ...]] = {"str": (str,), "list": (list, tuple), "dict": (Mapping,)}


@dataclass(frozen=True)
class Asked:
    """What the inventory says of one host, as Ansible has it; ``lock`` is what YAML made of the lock file.

    ``today`` is the day by which a waiver counts. Without ``audit_stops`` the audit's errors are notes: a service that
    is to be stopped or looked at need not be right.
    """

    services: object = None
    defaults: object = None
    secrets: object = None
    registry: object = None
    hf_endpoint: object = None
    lock: object = None
    lock_name: str = "vllm.lock.yml"
    require_lock: bool = True
    lock_problems: Sequence[str] = field(default_factory=tuple)
    extra_services: object = None
    waivers: object = None
    today: str = "0001-01-01"
    audit_stops: bool = True


@dataclass(frozen=True)
class Judged:
    """The services of one host as plain data, and what deserves a warning."""

    services: list[dict[str, Any]]
    notes: list[Finding]


def judge(asked: Asked) -> Judged:
    """Judge it all; ServicesError with every problem at once, none of which holds a secret."""
    problems: list[Problem] = []
    services: list[Service] = []
    asked = _with_extra(asked, problems)
    try:
        services = parse_services(asked.services, asked.defaults, asked.secrets)
    except ServicesError as error:
        problems += error.problems
    lock = _lock(asked, problems)
    problems += _unlocked(services, lock, asked) if asked.require_lock and lock is not None else []
    problems += [*_registry_problems(asked.registry), *_endpoint_problems(asked.hf_endpoint)]
    waivers, faults = read_waivers(asked.waivers)
    problems += faults
    audited = audit_services(services, waivers, asked.today)
    problems += audited.problems if asked.audit_stops else []
    if problems:
        secrets = {**secret_values(asked.secrets), **secret_values({"vllm_registry": asked.registry})}
        raise ServicesError(masked(problem, secrets) for problem in problems)
    images = lock.images if lock else {}
    entries = [service_entry(service, images.get(service.image.reference)) for service in services]
    for entry in entries:
        found_there = for_host(entry["name"], waivers)
        entry["gate"].update({"waivers": found_there} if found_there else {})
    keys = [note for each in services for note in key_note(each.name, each.version, each.secret_names)]
    return Judged(entries, [*audited.findings, *keys])


def is_said(note: Finding) -> bool:
    """Whether a note is worth a warning: information is for who asks, and a waiver is somebody's word."""
    return note.severity != INFO and not note.waived_until


def _with_extra(asked: Asked, problems: list[Problem]) -> Asked:
    """``vllm_extra_services`` over ``vllm_services``; what is no map is said and left out."""
    extra, services = asked.extra_services, asked.services
    if extra is not None and not isinstance(extra, Mapping):
        complaints = Complaints(EXTRA)
        complaints.say("(the whole)", f"a {kind_of(extra)}", "a map of services by name")
        problems += complaints.found
    if not isinstance(extra, Mapping) or not isinstance(services, (Mapping, type(None))):
        return asked
    return replace(asked, services=merged(services or {}, extra))


def _lock(asked: Asked, problems: list[Problem]) -> Lock | None:
    faults = asked.lock_problems
    lock = None
    if not faults:
        try:
            lock = parse_lock(asked.lock)
        except LockError as error:
            faults = error.problems
    allowed = f"what {COMMAND} writes; take the wrong entry out, or remove the file, and let it write it again"
    problems += [Problem("vllm.lock.yml", asked.lock_name, fault, allowed, next=COMMAND) for fault in faults]
    return lock


def _unlocked(services: Sequence[Service], lock: Lock, asked: Asked) -> list[Problem]:
    wanted = {service.name: service.image.reference for service in services if service.state != ABSENT}
    wanted = wanted or _told_images(asked)
    allowed = ", ".join(sorted(lock.images)) or "none yet"
    return [
        Problem(
            name,
            "image",
            f"{image} is not locked: {asked.lock_name} does not say its digest",
            f"an image that is locked ({allowed})",
            next=COMMAND,
            rank=UNLOCKED,
        )
        for name, image in sorted(wanted.items())
        if image not in lock.images
    ]


def _told_images(asked: Asked) -> dict[str, str]:
    """The images as they are written, for an inventory that has other faults: a missing lock is said all the same."""
    services, _faults = plain(asked.services, "")
    defaults, _faults = plain(asked.defaults, "")
    base = defaults if isinstance(defaults, dict) else {}
    told = {name: {**base, **own} for name, own in _pairs(services) if isinstance(own, dict)}
    return {
        name: own["image"]
        for name, own in told.items()
        if own.get("state") != ABSENT and looks_like_image(own.get("image"))
    }


def _pairs(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _registry_problems(registry: object) -> list[Problem]:
    """The keys and types of vllm_registry; no value is shown, one of them is a password."""
    complaints = Complaints("vllm_registry")
    if registry is not None and not isinstance(registry, Mapping):
        complaints.say("(the whole)", f"a {kind_of(registry)}, not shown", "a map")
        return complaints.found
    options: Mapping[str, Any] = REGISTRY_OPTION["options"]
    for name, value in registry.items() if isinstance(registry, Mapping) else ():
        if name not in options:
            complaints.unknown(str(name)[:40], options)
        elif value is not None and not isinstance(value, _KINDS[options[name]["type"]]):
            complaints.say(
                name, f"a {kind_of(value)}, not shown", f"a {options[name]['type']}, in quotes if it is text"
            )
    return complaints.found


def _endpoint_problems(endpoint: object) -> list[Problem]:
    if endpoint is None:
        return []
    complaints = Complaints("vllm_hf_endpoint")
    text = endpoint if isinstance(endpoint, str) else ""
    if not _is_address(text) or looks_secret(text):
        complaints.at("(the whole)", endpoint, "an address such as https://huggingface.co, without a login in it")
    return complaints.found


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc) and text.isprintable()
