# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the plays of an upgrade left in a host's variables, as one change a service.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.waves import Changed, changed


def changes_of(variables: Mapping[str, Any]) -> dict[str, Changed]:
    """How each service ended that a human named on this host."""
    names = (variables.get("vllm_confirmed") or {}).get("names") or []
    runs = (variables.get("vllm_upgraded") or {}).get("runs") or {}
    plans = {entry["name"]: entry for entry in (variables.get("vllm_plan") or {}).get("plan") or []}
    return {name: changed(plans[name], runs.get(name)) for name in names if name in plans}
