# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What to do about options of ``vllm serve`` that are gone; a small table from the same source as the large one.

Private to the collection.
"""

from __future__ import annotations

from ._replaced import REPLACED


def replacement(option: str) -> str | None:
    """What to do about an option that is gone; None for one that is not known as such."""
    known = REPLACED.get(option.replace("_", "-").removeprefix("--"))
    if known is None:
        return None
    since, instead, note = known
    todo = f"write {instead.replace('{value}', '').strip()}" if instead else "take it out"
    return f"{option} is gone since {since}: {todo}" + (f" ({note})" if note else "")
