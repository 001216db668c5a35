# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the record of a service on this host promises. No decisions.

Private to the collection.
"""

from __future__ import annotations

from ..health.evidence import Expected
from ..health.golden_prompts import prompt_from_dict
from ..release.gate import Gate
from ..release.paths import Paths
from ..secrets_file import parse_secrets
from ..services.names import service_name
from .files import link_name, read_if_there
from .releases import read_gate


class NotHere(ValueError):
    """What was asked for is not on this host; the message says so and names the next command."""


def paths_of(service: str) -> Paths:
    """The places of a service; NotHere for a word that cannot be one (it becomes part of paths)."""
    try:
        return Paths(service_name(service))
    except ValueError as error:
        raise NotHere(f"service: {service!r}, expected {error}") from None


def expected_of(paths: Paths) -> Expected:
    """What the current release promises; NotHere when there is none or its limits cannot be read."""
    release = link_name(paths.current)
    if release is None:
        raise NotHere(f"{paths.service}: no release of this service is on this host; run the deploy playbook")
    try:
        return expected_by(paths.service, read_gate(paths, release))
    except (ValueError, TypeError, AttributeError) as error:
        message = f"{paths.service}: gate.json of {release} cannot be read ({error}); run the deploy playbook"
        raise NotHere(message) from error


def expected_by(service: str, gate: Gate) -> Expected:
    """What the limits of a release promise; ValueError when they hold a golden prompt that is none."""
    return Expected(
        service=service,
        url=gate.url,
        version=gate.version,
        served_names=gate.served_names,
        runner=gate.runner,
        kv_floor_tokens=gate.kv_floor_tokens,
        warmup=gate.warmup,
        golden=tuple(prompt_from_dict(each) for each in gate.golden_prompts),
    )


def secrets_of(paths: Paths) -> dict[str, str]:
    """The secrets of the service; NotHere (without a value in it) when their file is not what was written."""
    try:
        return parse_secrets(read_if_there(paths.secrets) or "")
    except ValueError as error:
        raise NotHere(f"{paths.service}: {paths.secrets}: {error}; run the deploy playbook, which writes it") from None


def api_key_of(paths: Paths) -> str | None:
    """The key of the service's own HTTP interface, the only secret that a verification needs."""
    return secrets_of(paths).get("VLLM_API_KEY")
