# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the plays of an upgrade left in a host's variables, as one change a service.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.plan import DIFFERS
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.states import COMMITTED, ROLLED_BACK
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.waves import Changed, changed


def changes_of(variables: Mapping[str, Any]) -> dict[str, Changed]:
    """How each service ended that a human named on this host."""
    names = (variables.get("vllm_confirmed") or {}).get("names") or []
    runs = (variables.get("vllm_upgraded") or {}).get("runs") or {}
    if "vllm_history" in variables:
        return _taken_back(variables["vllm_history"]["services"], names, runs)
    plans = {entry["name"]: entry for entry in (variables.get("vllm_plan") or {}).get("plan") or []}
    return {name: changed(plans[name], runs.get(name)) for name in names if name in plans}


def _taken_back(
    services: Sequence[Mapping[str, Any]], names: Sequence[str], runs: Mapping[str, Mapping[str, Any]]
) -> dict[str, Changed]:
    """The same of a rollback, which asks the hosts only; a change that was called back is where it shall be."""
    plans = {each["name"]: {**each, "action": DIFFERS, "wanted": each["goes_back_to"]} for each in services}
    ends = {name: changed(plans[name], runs.get(name)) for name in names if name in plans}
    return {
        name: replace(end, result=COMMITTED, after=plans[name]["last_good"], reason="")
        if end.result == ROLLED_BACK and not (runs.get(name) or {}).get("failed")
        else end
        for name, end in ends.items()
    }
