# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Words and values as they may be shown: what opens a door is left out, by the name that it has.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

SECRET = "SECRET"
# --spec-tokens and max_tokens are numbers, and no tokens that open anything.
_NAMES = re.compile(r"(?:KEYS?|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|AUTHORIZATION)$", re.IGNORECASE)
# --api-k is read as --api-key: argparse takes the beginning of a name.
_BEGINNINGS = re.compile(r"--(?:api-ke?|hf-to(?:ke?)?)")
_USER_OF_URL = re.compile(r"(?<=://)[^/@\s\"']+@")
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]+)?")
_MOST_DEEP = 8


def hidden_value(name: str, value: str) -> str:
    """The value of a variable, an option or a key; of a secret's name only that there is one."""
    opens = _NAMES.search(name.replace("-", "_")) or _BEGINNINGS.fullmatch(name.replace("_", "-"))
    if opens and value and not _NUMBER.fullmatch(value):
        return SECRET
    return _USER_OF_URL.sub(f"{SECRET}@", _hidden_json(value))


def hide(words: Sequence[str]) -> list[str]:
    """The words of a command line without the values of secrets."""
    shown: list[str] = []
    option = ""
    for word in words:
        if word.startswith("--"):
            option, joined, value = word.partition("=")
            shown.append(f"{option}={hidden_value(option, value)}" if joined else word)
        else:
            shown.append(hidden_value(option, word))
    return shown


def _hidden_json(text: str) -> str:
    """Secrets below the keys of JSON; other text stays letter by letter."""
    if text.strip()[:1] not in {"{", "["}:
        return text
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return SECRET if re.search(r"key|token\b|secret|password", text, re.IGNORECASE) else text
    hidden = _hidden(read, "", 0)
    return text if hidden == read else json.dumps(hidden, ensure_ascii=False)


def _hidden(read: Any, name: str, depth: int) -> Any:
    if depth > _MOST_DEEP:
        return SECRET
    if isinstance(read, Mapping):
        return {key: _hidden(item, str(key), depth + 1) for key, item in read.items()}
    if isinstance(read, list):
        return [_hidden(item, name, depth + 1) for item in read]
    return hidden_value(name, read) if isinstance(read, str) else read
