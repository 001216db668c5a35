# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The diagnosis of a start from what was read of its log and kept. No decisions.

Private to the collection.
"""

from __future__ import annotations

from ..findings import Finding
from ..release.paths import Paths
from ..startup.finding import startup_finding
from ..startup.report import startup_from_dict
from . import starts


def diagnosis(paths: Paths, seq: int) -> Finding | None:
    """Why a start failed, by its log; None for one that did not, that nothing is known of, or that says nothing."""
    kept = starts.startup(paths, seq)
    return startup_finding(startup_from_dict(kept), f"{paths.service} start {seq}") if kept else None
