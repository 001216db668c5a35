# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The options of ``vllm serve`` in a service: their names, what the collection says itself, secrets, values.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..config.arguments import ArgumentFault, option_words
from ..config.options import NEWEST_READ, long_name, nearest_option
from ..versions import Version, parse_version
from .owned import REFUSED_OPTIONS
from .problems import EXPOSURE, Complaints
from .secrecy import looks_secret, secret_option

_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_NEWEST = parse_version(NEWEST_READ)  # what judges values when the image does not say its release
LONGEST_SHUTDOWN = 600
SHUTDOWN = "shutdown-timeout"


def read_config(config: Mapping[str, Any], version: Version | None, complaints: Complaints) -> dict[str, Any]:
    """Judge the options; names are already in vLLM's spelling with dashes."""
    for name, value in config.items():
        fault = _name_fault(name)
        if fault:
            complaints.say(f"config.{name}", "not an option here", fault, nearest=_near(name))
        elif not _secrets(name, value, complaints):
            _value(name, value, version or _NEWEST, complaints)
    _special(config, complaints)
    return dict(config)


def _name_fault(name: str) -> str | None:
    if name in REFUSED_OPTIONS:
        return REFUSED_OPTIONS[name]
    if name.startswith("-"):
        return f"the name without its dashes, {long_name(name) or name.strip('-')}"
    if name.startswith("no-"):
        return f"{name[3:]}: false, which becomes --{name} where this release has it"
    if "." in name:
        return f"the option {name.split('.', maxsplit=1)[0]} with a map below it, nested as vLLM nests it"
    if not _NAME.fullmatch(name):
        return "names of options of vllm serve, max-model-len say"
    full = long_name(name)
    return f"the long name, {full}" if full and full != name and "-" not in name else None


def _near(name: str) -> str | None:
    if name in REFUSED_OPTIONS:
        return None
    near = nearest_option(name.strip("-").removeprefix("no-").split(".")[0])
    return f"config.{near}" if near else None


def _secrets(name: str, value: object, complaints: Complaints) -> bool:
    """Complain of secrets anywhere in the value; say whether there were some."""
    found = list(_secret_places(f"config.{name}", name, value))
    for key in found:
        allowed = f"no secrets: they show in the process list; use vllm_secrets.{complaints.service} and a variable"
        complaints.say(key, "a value that may be a secret, not shown", allowed, rank=EXPOSURE)
    return bool(found)


def _secret_places(key: str, name: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for inner, item in value.items():
            yield from _secret_places(f"{key}.{inner}", inner, item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _secret_places(f"{key}[{index}]", name, item)
    elif isinstance(value, str) and value and (secret_option(name) or looks_secret(value)):
        yield key


def _value(name: str, value: object, version: Version, complaints: Complaints) -> None:
    try:
        option_words(name, value, version)
    except ArgumentFault as fault:
        complaints.at(f"config.{name}", fault.value, fault.allowed)


def _special(config: Mapping[str, Any], complaints: Complaints) -> None:
    """Options whose value the collection itself reads."""
    names = config.get("served-model-name")
    listed = names if isinstance(names, list) else [names]
    if names is not None and not all(isinstance(item, str) and item for item in listed):
        complaints.at(
            "config.served-model-name", names, "a name, or a list of names, in quotes where YAML reads numbers"
        )
    grace = config.get(SHUTDOWN)
    if grace is not None and not (_whole(grace) and 0 <= grace <= LONGEST_SHUTDOWN):
        complaints.at(f"config.{SHUTDOWN}", grace, f"whole seconds, 0 to {LONGEST_SHUTDOWN}: a stop must end")


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
