# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Take the values of secrets out of text, in the spellings in which a program prints them.

Private to the collection.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from urllib.parse import quote

# A value of so few characters is in every log by chance; taking it out would spoil the log and hide nothing.
LEAST_LENGTH = 4


class Redactor:
    """Replaces each secret by its name."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        pairs = {(form, name) for name, value in secrets.items() for form in _forms(value)}
        # The longest first: one secret can be the beginning of another.
        self._pairs = sorted(pairs, key=lambda pair: (-len(pair[0]), pair))

    def line(self, text: str) -> str:
        """The text without the values."""
        for form, name in self._pairs:
            if form in text:
                text = text.replace(form, f"[secret {name}]")
        return text


def _forms(value: str) -> set[str]:
    whole = {value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe="")}
    lines = {line.strip() for line in value.splitlines()}
    return {form for form in whole | lines if len(form) >= LEAST_LENGTH}
