# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Gather the evidence for the claims about a running service and let them be judged.

Private to the collection.
"""

from __future__ import annotations

from ..findings import Finding
from .steps import Context


def prove(context: Context) -> list[Finding]:
    """The findings of all claims."""
    return []
