# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a subject shows, for the rules about how a server is run: text that a shell or Docker reads, options, variables.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...config.command_line import Given
from ..case import Case
from ..subject import COMPOSE, DOCKER_RUN, UNIT, Container, UnitFile

SEEN = "seen in published units"
_RUN = re.compile(r"\b(?:docker|podman)\s+(?:container\s+)?run\b([^\n]*)")


def text(case: Case) -> str:
    """The subject's own text and what a shell runs of it, comments left out and continued lines joined."""
    whole = "\n".join([case.subject.raw_text or "", *case.subject.shell_text])
    joined = re.sub(r"\\\r?\n", " ", whole)
    return "\n".join(line for line in joined.splitlines() if not line.lstrip().startswith(("#", ";")))


def docker_runs(case: Case) -> list[str]:
    """What follows ``docker run``, one a command; nothing for a compose file."""
    return [] if case.subject.kind == COMPOSE else _RUN.findall(text(case))


def unit(case: Case) -> UnitFile:
    """The unit, an empty one where there is none."""
    return case.subject.unit or UnitFile()


def container(case: Case) -> Container | None:
    """The container where somebody describes how it is run; the collection's own and a map's are not such."""
    shown = case.subject.container
    return shown if shown is not None and case.subject.kind in {DOCKER_RUN, COMPOSE, UNIT} else None


def given(case: Case, name: str) -> Given | None:
    """The last time an option is given, not negated."""
    found = [each for each in (case.line.given if case.line else ()) if each.name == name]
    return found[-1] if found and not found[-1].negated else None


def value(case: Case, name: str) -> str | None:
    """The first word of an option's value."""
    found = given(case, name)
    return found.values[0] if found and found.values else None


def number(case: Case, name: str, default: int) -> int:
    """A whole number, or the default where it is none."""
    said = value(case, name)
    return int(said) if said and re.fullmatch(r"[0-9]{1,6}", said) else default


def env(case: Case, name: str) -> str | None:
    """A variable that the engine sees."""
    return (case.subject.env or {}).get(name)


def unit_env(case: Case) -> dict[str, str]:
    """Variables of ``Environment=`` in the unit."""
    words = (word for line in unit(case).all("Environment", "Service") for word in _words(line))
    return dict(word.split("=", 1) for word in words if "=" in word)


def seconds(written: str | None) -> float | None:
    """A time as systemd writes it; ``inf`` for infinity, None for what is not a time."""
    if written is None:
        return None
    if written.strip() == "infinity":
        return float("inf")
    plain = re.fullmatch(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*", written)
    if plain:
        return float(plain.group(1))
    parts = re.findall(r"([0-9]{1,9})\s*(ms|min|m|sec|s|hours?|hr|h|days?|d)\b", written)
    scale = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hr": 3600, "d": 86400}
    return (
        sum(int(count) * scale.get(name.rstrip("s") or "s", scale.get(name, 1)) for count, name in parts)
        if parts
        else None
    )


def _words(line: str) -> Iterable[str]:
    return (first or second or plain for first, second, plain in re.findall(r'"([^"]*)"|\'([^\']*)\'|(\S+)', line))
