# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Take the values of secrets out of text, in the spellings in which a program prints them.

Private to the collection.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Mapping
from urllib.parse import quote, quote_plus

# A value of so few characters is in every log by chance; taking it out would spoil the log and hide nothing.
LEAST_LENGTH = 4


class Redactor:
    """Replaces each secret by its name, and remembers the names of those that it met."""

    def __init__(self, *secrets: Mapping[str, str]) -> None:
        pairs = {(form, name) for each in secrets for name, value in each.items() for form in _forms(value)}
        # The longest first: one secret can be the beginning of another.
        self._pairs = sorted(pairs, key=lambda pair: (-len(pair[0]), pair))
        self.met: set[str] = set()

    def line(self, text: str) -> str:
        """The text without the values."""
        for form, name in self._pairs:
            if form in text:
                text = text.replace(form, f"[secret {name}]")
                self.met.add(name)
        return text


def _forms(value: str) -> set[str]:
    raw = value.encode("utf-8", "surrogateescape")
    whole = {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        repr(value)[1:-1],
        shlex.quote(value).strip("'"),
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    }
    lines = {line.strip() for line in value.splitlines()}
    return {form for form in whole | lines if len(form) >= LEAST_LENGTH}
