# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Names that a human gives on the command line: a list, or one text with commas.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def names_of(given: Any) -> list[str]:
    """Read ``chat``, ``chat,embed`` or ``[chat, embed]`` as a list of names, without repeats, in order."""
    if given is None:
        return []
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        given = str(given)  # no name of anything: whoever knows the names says so, in words
    words = given.split(",") if isinstance(given, str) else [str(word) for word in given]
    return list(dict.fromkeys(word.strip() for word in words if word.strip()))
