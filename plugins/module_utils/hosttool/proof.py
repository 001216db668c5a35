# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Gather the evidence for the claims about a running service and let them be judged.

Private to the collection.
"""

from __future__ import annotations

from dataclasses import replace

from ..findings import Finding
from ..health.evidence import Expected, Identity
from ..health.verify import judge_verification
from ..io.proof import gather_host_evidence
from ..io.releases import read_gate
from ..io.serving import gather_verification
from ..release.states import STARTING
from .keeping import secrets_of
from .steps import Context


def prove(context: Context) -> list[Finding]:
    """The findings of all claims; the start that was recorded by this run is the one that must serve."""
    gate = read_gate(context.paths, context.release)
    expected = Expected(
        service=context.paths.service,
        url=gate.url,
        version=gate.version,
        served_names=gate.served_names,
        runner=gate.runner,
        kv_floor_tokens=gate.kv_floor_tokens,
        warmup=gate.warmup,
    )
    started = context.found(STARTING)
    recorded = Identity(str(started.get("invocation_id") or ""), str(started.get("container_id") or ""))
    key = secrets_of(context.paths).get("VLLM_API_KEY")
    evidence = gather_verification(expected, api_key=key, clock=context.clock)
    host = gather_host_evidence(context.paths, recorded, runner=context.runner)
    return judge_verification(expected, replace(evidence, host=host))
