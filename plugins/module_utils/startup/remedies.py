# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What to change, with the figures of the log itself.

Private to the collection.
"""

from __future__ import annotations
from collections.abc import Mapping, Sequence
from typing import Any


def remedy(slug: str, details: Mapping[str, Any], facts: Mapping[str, Sequence[Any]]) -> str | None:
    return None
