# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is said of a proposal, and the secrets that were met on the way: their names are told, their values never.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from ..findings import INFO, WARNING, Finding, worst_first
from ..release.redact import Redactor
from ..services.secrecy import looks_secret, secret_name
from ..startup.lines import redact

# A login in an address: the whole of it is taken for secret, with a user or without.
_LOGIN = re.compile(r"://([^/\s@]{1,256})@")
_INNER = re.compile(
    r"(?i)(?:api[_-]?key|access[_-]?key|secret|passw(?:or)?d|passphrase|credential|authorization|bearer|token)"
    r"[\"']?\s*[:=]\s*[\"']?[A-Za-z0-9+/_.-]{6,}"
)
DROPPED = object()


class Notes:
    """Collects findings and secrets of one server."""

    def __init__(self, subject: str) -> None:
        """Start with none."""
        self.subject = subject
        self.found: list[Finding] = []
        self.secrets: dict[str, str] = {}
        self._values: dict[str, str] = {}

    def say(self, name: str, severity: str, message: str, remedy: str | None = None, about: str = "") -> None:
        """Add one finding."""
        subject = f"{self.subject} {about}".strip()
        self.found.append(Finding(name, severity, subject, message, remedy=remedy))

    def secret(self, name: str, value: str, where: str) -> None:
        """Note a secret that was found in the open, and under which name the service gets it."""
        self.secrets.setdefault(name, where)
        self.hide(where, value)

    def hide(self, where: str, value: str) -> None:
        """Let no text have this value, nor the logins in it."""
        self._values[where] = value
        for number, login in enumerate(_LOGIN.findall(value)):
            for part in {login, *login.split(":", 1), unquote(login)}:
                self._values[f"a login of {where}, {number}, {len(self._values)}"] = part

    def clean(self, value: Any, place: str) -> Any:
        """Plain data without what has the value of a secret; DROPPED where nothing is left."""
        return self._clean(value, place, Redactor(self._values))

    def _clean(self, value: Any, place: str, redactor: Redactor) -> Any:
        if isinstance(value, Mapping):
            items = {key: self._clean(item, f"{place}.{key}", redactor) for key, item in value.items()}
            return {key: item for key, item in items.items() if item is not DROPPED and redactor.line(str(key)) == key}
        if isinstance(value, list):
            found = [self._clean(item, f"{place}[{at}]", redactor) for at, item in enumerate(value)]
            return [item for item in found if item is not DROPPED]
        if redactor.line(str(value)) != str(value):
            self.say("secret_inside", WARNING, "has the value of a secret in it and is left out", about=place)
            return DROPPED
        return value

    def findings(self) -> list[Finding]:
        """All findings, the worst first, without the value of any secret."""
        redactor = Redactor(self._values)

        def clean(text: str | None) -> str | None:
            return None if text is None else redact(redactor.line(text))

        told = [
            replace(
                each, message=clean(each.message) or "", subject=clean(each.subject) or "", remedy=clean(each.remedy)
            )
            for each in self.found
        ]
        return worst_first(dict.fromkeys(told))


def is_secret(name: str, value: str) -> bool:
    """Whether a variable holds a secret, by its name or by what its value looks like."""
    return secret_name(name) or reads_secret(value)


def reads_secret(value: str) -> bool:
    """Whether a text looks like a secret, or like something with one in it."""
    return looks_secret(value) or redact(value) != value or bool(_INNER.search(value) or _LOGIN.search(value))


def owned(notes: Notes, about: str, message: str) -> None:
    """Say of something that the collection does it in its own way."""
    notes.say("owned", INFO, message, about=about)
