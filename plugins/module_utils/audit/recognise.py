# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a map or a text is, by what only its kind has.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..services.schema import SERVICE_KEYS
from .dashboard import is_dashboard
from .errors import AuditError
from .reading.documents import is_document
from .reading.map import KEYS
from .rule_file import is_rule_file
from .subject import COMPOSE, DOCKER_RUN, GRAFANA_DASHBOARD, MAP, PROMETHEUS_RULES, SERVE, SERVICE, UNIT

KINDS = (SERVE, DOCKER_RUN, COMPOSE, UNIT, SERVICE, MAP, PROMETHEUS_RULES, GRAFANA_DASHBOARD)
DOCUMENTS = frozenset({COMPOSE, SERVICE, MAP, PROMETHEUS_RULES, GRAFANA_DASHBOARD})
DOCUMENT = "document"  # YAML or JSON: what its map is says the kind
SERVICES = "vllm_services"
_RUN = re.compile(r"\b(?:docker|podman|nerdctl)[ \t](?:[^\n;&|]*[ \t])?(?:run|create)\s")
_SERVER = re.compile(r"\bvllm\s+serve\b|\bvllm[./]entrypoints[./]")
_SECTION = re.compile(r"^[ \t]*\[(?:Unit|Service|Install|Container|X-[^\]\n]*)\][ \t]*\r?$", re.MULTILINE)
_SHARED = {"image", "env", "exposed_without_key", "name"}
_OF_MAPS = frozenset(KEYS) - _SHARED
_OF_SERVICES = {key.name for key in SERVICE_KEYS} - _SHARED


def named_kind(kind: str | None) -> str | None:
    """A kind as it is given; AuditError where there is no such kind."""
    said = None if kind is None else str(kind).strip().lower().replace("_", " ")
    if said is None or said in KINDS:
        return said
    raise AuditError(f"{str(kind)[:60]!r} is no kind of subject; expected one of {', '.join(KINDS)}")


def kind_of_map(given: Mapping[Any, Any]) -> str:
    """What a map is, by its keys."""
    if is_rule_file(given):
        return PROMETHEUS_RULES
    if is_dashboard(given):
        return GRAFANA_DASHBOARD
    keys = set(given)
    if isinstance(given.get("services"), Mapping) and not _OF_MAPS & keys:
        return COMPOSE
    return SERVICE if SERVICES in keys or (_OF_SERVICES & keys and not _OF_MAPS & keys) else MAP


def is_known(given: Mapping[Any, Any]) -> bool:
    """Whether a map has anything that can be audited."""
    return kind_of_map(given) != MAP or any(key in given for key in KEYS)


def kind_of_text(text: str) -> str | None:
    """What a text is, by what only such a text has; None where it is nothing known."""
    if _SECTION.search(text):
        return UNIT
    if is_document(text):
        return DOCUMENT
    if _RUN.search(text.replace("\\\n", " ")):
        return DOCKER_RUN
    return SERVE if _SERVER.search(text.replace("\\\n", " ")) else None
