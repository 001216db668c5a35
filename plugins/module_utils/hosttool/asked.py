# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a module was asked for: what its run is told when it is opened, and what is said of it before that.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..io.files import link_name
from ..release.decide import Decision
from ..release.paths import Paths
from ..release.states import GATED_KINDS, REPLACING_KINDS, STARTING_KINDS
from ..release.view import run_title
from ..services.measures import seconds
from .errors import ToolError
from .following import state_text


def opened_with(params: Mapping[str, Any]) -> dict[str, Any]:
    """What a run is told when it is opened."""
    try:
        waits = {"confirm_seconds": seconds(params["confirm_within"])} if params["confirm_within"] else {}
    except ValueError as error:
        message = f"{params['service']}: confirm_within: expected {error}, got {params['confirm_within']!r}"
        raise ToolError(message) from None
    adopts = {"adopt": params["adopt"]} if params.get("adopt") else {}
    return {**waits, **adopts, **({"accept_no_rollback": True} if params["accept_no_rollback"] else {})}


def told_of(paths: Paths, decision: Decision) -> dict[str, Any]:
    """What is decided, before anything is done."""
    current = link_name(paths.current) if decision.kind in REPLACING_KINDS else None
    before = state_text(current, "stopped" if decision.kind in STARTING_KINDS else "running")
    runs = decision.kind in GATED_KINDS
    after = state_text(decision.release, "running") if runs else state_text(None, "stopped")
    return {
        "changed": decision.changes,
        "release": decision.release,
        "actions": [run_title(paths.service, decision.kind, decision.release)] if decision.kind else [],
        "finished": True,
        "findings": [finding.to_dict() for finding in decision.findings],
        "summary": f"{paths.service}: {decision.reason}",
        "diff": {"before": before, "after": after} if decision.kind else {},
    }
