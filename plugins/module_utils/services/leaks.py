# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A secret that a template carried into a service definition, found by its value.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from .problems import EXPOSURE, Complaints, Problem

# Shorter ones could be any word: a secret that is "chat" must not blank every message.
SHORTEST = 8
MASK = "********"


def secret_values(secrets: object) -> dict[str, str]:
    """Every secret that is long enough to be recognised, with the name that people know it by."""
    pairs = [
        (value, f"vllm_secrets.{service}.{name}")
        for service, kept in _items(secrets)
        for name, value in _items(kept)
        if isinstance(value, str) and len(value) >= SHORTEST
    ]
    return dict(pairs)


def _items(value: object) -> list[tuple[Any, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def find_leaks(value: object, secrets: Mapping[str, str], complaints: Complaints, key: str = "") -> None:
    """Complain of every place of a definition that holds the value of a secret."""
    for place, name in _leaks(value, secrets, key):
        allowed = "no secrets: a definition shows in the process list and in records; the container gets them by name"
        complaints.say(place, f"the value of {name}", allowed, rank=EXPOSURE)


def _leaks(value: object, secrets: Mapping[str, str], key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from _leaks(item, secrets, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaks(item, secrets, f"{key}[{index}]")
    elif isinstance(value, str):
        yield from ((key, name) for secret, name in secrets.items() if secret in value)


def masked(problem: Problem, secrets: Mapping[str, str]) -> Problem:
    """The problem without the value of any secret, wherever it got in."""
    return replace(
        problem,
        service=_mask(problem.service, secrets),
        key=_mask(problem.key, secrets),
        value=_mask(problem.value, secrets),
        allowed=_mask(problem.allowed, secrets),
        nearest=_mask(problem.nearest, secrets) if problem.nearest else None,
    )


def _mask(text: str, secrets: Mapping[str, str]) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text
