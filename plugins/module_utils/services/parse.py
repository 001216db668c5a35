# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Judge the services of one host: all that is wrong is said at once, and nothing but ServicesError comes out.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .clashes import clashes
from .leaks import find_leaks, secret_values
from .merge import merged, spelled, spelled_twice
from .model import Service
from .names import service_name
from .plain import plain
from .problems import Complaints, Problem, ServicesError, kind_of
from .schema import SERVICE_KEYS, by_name
from .service import read_service

DEFAULTS = "vllm_defaults"
_KEYS = by_name(SERVICE_KEYS)


@dataclass(frozen=True)
class _Kept:
    """The secrets of one service, and the values of all secrets by which a leak is recognised."""

    secrets: object
    values: Mapping[str, str]


def parse_services(services: object, defaults: object = None, secrets: object = None) -> list[Service]:
    """The services of one host by name; ServicesError with every problem when there is one.

    ``defaults`` are laid under each service, ``secrets`` is the map of secrets by service: their names count and
    their values are looked at only to say that one is no text.
    """
    problems: list[Problem] = []
    base = _base(defaults, problems)
    wanted = _named(services, "vllm_services", "a map of services by name", problems)
    kept = _named(secrets, "vllm_secrets", "a map of secrets by service", problems)
    values = secret_values(secrets)
    found = [_one(name, wanted[name], base, _Kept(kept.get(name), values), problems) for name in sorted(wanted)]
    good = [service for service in found if service is not None]
    problems += clashes(good)
    if problems:
        raise ServicesError(problems)
    return good


def _named(value: object, label: str, allowed: str, problems: list[Problem]) -> dict[str, Any]:
    """The map's entries whose names are texts."""
    if value is None:
        return {}
    complaints = Complaints(label)
    if not isinstance(value, Mapping):
        complaints.say(label, f"a {kind_of(value)}", allowed)
    entries = list(value.items()) if isinstance(value, Mapping) else []
    for name, _item in entries:
        if not isinstance(name, str):
            made = f"names that are text; YAML made {kind_of(name)} of this one: put it in quotes"
            complaints.at(label, name if isinstance(name, (bool, int)) else f"a {kind_of(name)}", made)
    problems += complaints.found
    return {str(name): item for name, item in entries if isinstance(name, str)}


def _base(defaults: object, problems: list[Problem]) -> dict[str, Any]:
    """The defaults without what is wrong in them, so that each fault is said once and not once a service."""
    given = _plain_map(defaults, DEFAULTS, problems)
    complaints = Complaints(DEFAULTS)
    for key in [key for key in given if key not in _KEYS]:
        complaints.unknown(key, _KEYS)
        del given[key]
    for key in [key for key, value in given.items() if value is not None and not _KEYS[key].accepts(value)]:
        complaints.at(key, given.pop(key), _KEYS[key].allowed)
    problems += complaints.found
    return spelled(given)


def _plain_map(value: object, label: str, problems: list[Problem]) -> dict[str, Any]:
    complaints = Complaints(label)
    copied, faults = plain({} if value is None else value, "")
    for fault in faults:
        complaints.at(fault.key.lstrip(".") or label, fault.value, fault.allowed)
    if not faults and not isinstance(copied, dict):
        complaints.at("(the whole)", copied, "a map of the keys of a service")
    problems += complaints.found
    return copied if isinstance(copied, dict) else {}


def _one(name: str, value: object, base: Mapping[str, Any], kept: _Kept, problems: list[Problem]) -> Service | None:
    complaints = Complaints(_label(name))
    try:
        service_name(name)
    except ValueError as error:
        complaints.at("(its name)", name, str(error))
    own = _plain_map(value, complaints.service, complaints.found)
    for option in spelled_twice(own["config"]) if isinstance(own.get("config"), dict) else ():
        complaints.say(f"config.{option}", "given twice, with dashes and with underscores", "each option once")
    given = merged(base, spelled(own))
    find_leaks(given, kept.values, complaints)
    service = read_service(name, given, kept.secrets, complaints)
    problems += complaints.found
    return service


def _label(name: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in name[:60]) or "(empty name)"
