# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with an inventory, all of it at once, without ever repeating a secret.

Private to the collection.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from .secrecy import looks_secret, secret_name

NEXT = "correct it in the inventory, then see what would happen: ansible-playbook gpuhosts.vllm.plan"
SHOWN = 80
_OTHER_KINDS = {"NoneType": "null", "list": "list", "tuple": "list"}
# Problems that are no service's own carry the variable or file that they are in.
_VARIABLES = {
    "vllm_services",
    "vllm_extra_services",
    "vllm_defaults",
    "vllm_secrets",
    "vllm_registry",
    "vllm_hf_endpoint",
    "vllm_waivers",
    "vllm.lock.yml",
}
# What comes first in a list of problems: what would leak or expose, then what cannot live together, then the rest.
EXPOSURE, CLASH, PLAIN, UNLOCKED = 0, 1, 2, 3


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where, what was found (never a secret), what is allowed, what to do next."""

    service: str
    key: str
    value: str
    allowed: str
    nearest: str | None = None
    next: str = NEXT
    rank: int = PLAIN

    def to_dict(self) -> dict[str, Any]:
        """Give the problem as plain data."""
        return {name: value for name, value in asdict(self).items() if name != "rank" and value is not None}

    def line(self) -> str:
        """Say the problem in one line, without the next command."""
        near = f"; did you mean {self.nearest}?" if self.nearest else ""
        whose = self.service if self.service in _VARIABLES else f"service {self.service}"
        return f"{whose}, {self.key}: {self.value}. Allowed: {self.allowed}{near}"


class ServicesError(ValueError):
    """An inventory that cannot be used; ``problems`` says all that is wrong with it, worst first."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        """Sort what was found; the order within one rank is kept."""
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda problem: problem.rank))
        super().__init__(describe(self.problems))


def describe(problems: Collection[Problem], host: str | None = None) -> str:
    """One message for people: a line a problem, then each next command once."""
    where = f"host {host}, " if host else ""
    lines = [f"  - {where}{problem.line()}" for problem in problems]
    commands = [f"  next: {command}" for command in dict.fromkeys(problem.next for problem in problems)]
    return "\n".join([*lines, *commands])


class Complaints:
    """Collects problems of one service while its keys are read."""

    def __init__(self, service: str) -> None:
        """Start with none."""
        self.service = service
        self.found: list[Problem] = []

    def at(  # noqa: PLR0913 - a problem has that many parts, and all but three have defaults
        self,
        key: str,
        value: object,
        allowed: str,
        *,
        nearest: str | None = None,
        next_step: str = NEXT,
        rank: int = PLAIN,
    ) -> None:
        """Add one problem; ``value`` is made safe to show."""
        self.say(key, show(key, value), allowed, nearest=nearest, next_step=next_step, rank=rank)

    def say(  # noqa: PLR0913
        self,
        key: str,
        found: str,
        allowed: str,
        *,
        nearest: str | None = None,
        next_step: str = NEXT,
        rank: int = PLAIN,
    ) -> None:
        """Add one problem whose finding is told in words."""
        place = key if len(key) <= SHOWN else key[:SHOWN] + "..."
        self.found.append(Problem(self.service, place, found, allowed, nearest, next_step, rank))

    def unknown(self, key: str, known: Collection[str]) -> None:
        """Add a key that does not exist, with the one it probably should be; its value is nobody's business."""
        near = nearest(key.rpartition(".")[2], known)
        parent = key.rpartition(".")[0]
        allowed = ", ".join(sorted(known))
        near = f"{parent}.{near}" if near and parent else near
        self.say(key, "no such key", allowed, nearest=near)


def nearest(word: str, known: Collection[str]) -> str | None:
    """The known word that is most like this one, or None."""
    return next(iter(difflib.get_close_matches(word.lower(), sorted(known), n=1, cutoff=0.6)), None)


def show(key: str, value: object) -> str:
    """A value as a message may show it: short, in one line, and not at all when it may be a secret."""
    if isinstance(value, (dict, list, tuple)):
        kind = "a map" if isinstance(value, dict) else "a list"
        return f"{kind} of {len(value)}"
    if secret_name(key.rpartition(".")[2]) or (isinstance(value, str) and looks_secret(value)):
        return f"({kind_of(value)}, not shown: it may be a secret)"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return _short(value)


def kind_of(value: object) -> str:
    """What YAML made of a value, in words of people."""
    if isinstance(value, bool):
        return "true or false"
    kinds: tuple[tuple[type, str], ...] = ((str, "text"), (int, "number"), (float, "number"), (dict, "map"))
    found = next((name for kind, name in kinds if isinstance(value, kind)), None)
    return found or _OTHER_KINDS.get(base_name(value), base_name(value))


def base_name(value: object) -> str:
    """The name of a value's type as people may know it; wrappers that a template engine puts round it are left out."""
    names = (kind.__name__ for kind in type(value).__mro__ if kind.__module__ in {"builtins", "datetime"})
    name = next(names, "object")
    return type(value).__name__ if name == "object" else name


def _short(value: object) -> str:
    try:
        text = repr(value) if isinstance(value, str) else str(value)
    except Exception:  # a value that cannot even be written (a number of 5000 digits, a broken object) is still named
        return f"a {type(value).__name__}"
    text = "".join(letter if letter.isprintable() else "?" for letter in text[: SHOWN + 1])
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
