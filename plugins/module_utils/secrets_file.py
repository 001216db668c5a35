# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The file that carries a service's secrets into its container: ``NAME='value'`` lines that a POSIX shell reads.

Private to the collection.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping


def render_secrets(secrets: Mapping[str, str]) -> str:
    """Write the file, names sorted, values quoted for a POSIX shell; no secrets give an empty text."""
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in sorted(secrets.items()))


def parse_secrets(text: str) -> dict[str, str]:
    """Read the file back; ValueError when it is not what render_secrets writes (the message shows no value)."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError("the secrets file has an open quote") from None
    pairs = [word.partition("=") for word in words]
    if any(not name.isidentifier() or not sign for name, sign, _value in pairs):
        raise ValueError("the secrets file has a line that is not NAME='value'")
    return {name: value for name, _sign, value in pairs}


def compare_secrets(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Say by name what differs, never by value: ``HF_TOKEN added``, ``HF_TOKEN changed``, ``HF_TOKEN removed``."""
    lines = []
    for name in sorted({*before, *after}):
        if name not in before:
            lines.append(f"{name} added")
        elif name not in after:
            lines.append(f"{name} removed")
        elif before[name] != after[name]:
            lines.append(f"{name} changed")
    return lines
