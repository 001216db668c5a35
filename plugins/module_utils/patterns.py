# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A regular expression that a user wrote: whether it can be read, and whether it ends in time.

Private to the collection.
"""

from __future__ import annotations

import re

MOST_CHARACTERS = 500
MOST_OPEN_ENDS = 8
# (a+)+ and the like: what takes for ever on a text that does not match.
_NESTED = re.compile(r"[*+}]\??\)*\)(?:[*+]|\{\d*,)")
_OPEN_END = re.compile(r"(?<!\\)[*+]|\{\d*,\d*\}")
_NEIGHBOURS = re.compile(r"\.[*+]\??[()]*\.[*+]")


def bounded_pattern(pattern: str) -> re.Pattern[str]:
    """The pattern, ready to be used; ValueError says why it is not taken."""
    if len(pattern) > MOST_CHARACTERS:
        raise ValueError(f"a regular expression of at most {MOST_CHARACTERS} characters")
    if _NESTED.search(pattern) or _NEIGHBOURS.search(pattern) or len(_OPEN_END.findall(pattern)) > MOST_OPEN_ENDS:
        raise ValueError(
            f"a regular expression that ends in time: no repetition of a repetition, {MOST_OPEN_ENDS} with an open "
            "end at most"
        )
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"a regular expression as Python reads it; of this one it says: {error}") from None
