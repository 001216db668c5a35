# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the controller says of a proposal: judged and audited like any service of an inventory.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..findings import INFO, finding_from_dict, one_line
from ..services.audited import audit_services
from ..services.parse import parse_services
from ..services.problems import ServicesError

# Long enough to be a secret, and nothing that a definition could have in it.
_PLACEHOLDER = "0-a-secret-of-the-vault-goes-here-0"


def judged(proposal: Mapping[str, Any], today: str) -> list[str]:
    """What is still wrong with the definition, and what the audit says of it; empty when it can be used as it is."""
    name = str(proposal["name"])
    secrets = {name: dict.fromkeys(proposal["secrets"], _PLACEHOLDER)}
    try:
        services = parse_services({name: proposal["definition"]}, None, secrets)
    except ServicesError as error:
        return [problem.line() for problem in error.problems]
    return [one_line(each) for each in audit_services(services, [], today).findings if each.severity != INFO]


def findings_of(proposal: Mapping[str, Any]) -> list[str]:
    """What could not be carried over, a line each."""
    return [one_line(finding_from_dict(dict(each))) for each in proposal["findings"]]


def head(proposal: Mapping[str, Any], host: str, today: str) -> list[str]:
    """The comment above the definition: where it is from, what is to be done, which secrets it needs."""
    name, running = proposal["name"], proposal["running"]
    lines = [
        f"Proposed for the container {running['container']} of {host}. Review it, and put it into the inventory",
        "of the host (vllm_extra_services), lock its image, see the plan, then take over with:",
        f"ansible-playbook gpuhosts.vllm.adopt --limit {host} -e vllm_confirm={name}",
    ]
    lines += _section("Not carried over as it was:", findings_of(proposal))
    lines += _section("The judgement of the definition:", judged(proposal, today))
    secrets = [f"{each}: found in {where}" for each, where in sorted(proposal["secrets"].items())]
    return lines + _section(f"Secrets that vllm_secrets.{name} has to have, from a vault:", secrets)


def _section(title: str, lines: list[str]) -> list[str]:
    return ["", title, *(f"  - {line}" for line in lines)] if lines else []
