# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Gather the evidence for the claims about a running service and let them be judged.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..findings import WARNING, Finding, one_line
from ..health.evidence import Evidence, Identity
from ..health.golden_kept import to_keep
from ..health.verify import judge_verification
from ..io import golden
from ..io.expected import expected_by
from ..io.proof import gather_host_evidence
from ..io.releases import read_gate
from ..io.serving import gather_verification
from ..startup.lines import redact
from .keeping import redactor_of, secrets_of
from .steps import Context, StepFailed


def prove(context: Context, release: str, started: Mapping[str, Any]) -> list[Finding]:
    """The findings of all claims; ``started`` is what was recorded of the start of ``release`` that must serve."""
    try:
        expected = expected_by(context.paths.service, read_gate(context.paths, release))
    except (ValueError, TypeError, AttributeError) as error:
        raise StepFailed(f"gate.json of {release} cannot be read ({error}); stage it again with deploy") from error
    recorded = Identity(str(started.get("invocation_id") or ""), str(started.get("container_id") or ""))
    key = secrets_of(context.paths).get("VLLM_API_KEY")
    evidence = gather_verification(expected, api_key=key, clock=context.clock)
    host = gather_host_evidence(context.paths, recorded, runner=context.runner)
    evidence = replace(evidence, host=host)
    findings = judge_verification(expected, evidence)
    _keep(context, release, evidence)
    for finding in findings:
        if finding.severity == WARNING:
            context.say(one_line(finding))
    return findings


def _keep(context: Context, release: str, evidence: Evidence) -> None:
    """Keep the answers for the next release; a disk that refuses is said, and ends nothing."""
    seq = evidence.host.start_seq if evidence.host else None
    if not evidence.golden or seq is None:
        return
    redactor = redactor_of(context.paths)
    model = context.record_of(release).content["model"]
    data = to_keep(release, model, evidence.golden, lambda text: redact(redactor.line(text)))
    try:
        golden.keep(context.paths, seq, data)
    except OSError as error:
        context.say(f"the answers to the golden prompts could not be kept: {error.strerror or error}")
