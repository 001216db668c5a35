# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is given as a subject: it is recognised, then read by the reader of its kind.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..services.schema import SERVICE_KEYS
from ..versions import Version
from .dashboard import is_dashboard, read_dashboard
from .errors import AuditError
from .reading.docker_run import read_docker_runs
from .reading.map import KEYS, read_map
from .reading.serve import read_serves
from .reading.service import read_service_map, read_service_maps, subject_of_service
from .rule_file import is_rule_file, read_rule_file
from .subject import DOCKER_RUN, GRAFANA_DASHBOARD, MAP, PROMETHEUS_RULES, SERVE, SERVICE, Subject

__all__ = ["read_subject", "read_subjects", "subject_of_service"]
NAME = "subject"
EXPECTED = (
    "a `vllm serve` or `docker run` line, a compose file, a systemd unit, a Prometheus rule file or a Grafana dashboard"
)
_RUN = re.compile(r"\b(?:docker|podman|nerdctl)\s(?:[^\n;&|]*\s)?(?:run|create)\s")
_SERVER = re.compile(r"\bvllm\s+serve\b|\bvllm[./]entrypoints[./]")
_SHARED = {"image", "env", "exposed_without_key", "name"}
_OF_MAPS = frozenset(KEYS) - _SHARED
_OF_SERVICES = {key.name for key in SERVICE_KEYS} - _SHARED
_SERVICES = "vllm_services"


def read_subject(given: object, version: Version, name: str | None = None, kind: str | None = None) -> Subject:
    """The one subject of what is given; AuditError where there is none, or more than one."""
    found = read_subjects(given, version, name, kind)
    if len(found) > 1:
        raise AuditError(f"there are {len(found)} servers ({', '.join(one.name for one in found)}); one is expected")
    return found[0]


def read_subjects(
    given: object, version: Version, name: str | None = None, kind: str | None = None
) -> tuple[Subject, ...]:
    """Every subject of what is given, at least one; ``kind`` None means that it is recognised."""
    if isinstance(given, Mapping):
        return _of_map(given, version, name, kind)
    if isinstance(given, str):
        return _of_text(given, version, name, kind)
    raise AuditError(f"a {type(given).__name__} is nothing that can be audited; expected a map or a text")


def _of_map(given: Mapping[Any, Any], version: Version, name: str | None, kind: str | None) -> tuple[Subject, ...]:
    named = name or _name_in(given)
    found = kind or kind_of_map(given)
    if found == PROMETHEUS_RULES:
        return (read_rule_file(given, named),)
    if found == GRAFANA_DASHBOARD:
        return (read_dashboard(given, named),)
    if found == SERVICE and isinstance(given.get(_SERVICES), Mapping):
        return read_service_maps(given[_SERVICES], version, given.get("vllm_defaults"), given.get("vllm_secrets"))
    if found == SERVICE:
        return (read_service_map(given, version, named),)
    return (read_map(given, named),)


def _name_in(given: Mapping[Any, Any]) -> str:
    said = given.get("name")
    return said if isinstance(said, str) and said.strip() else NAME


def kind_of_map(given: Mapping[Any, Any]) -> str:
    """What a map is, by its keys."""
    if is_rule_file(given):
        return PROMETHEUS_RULES
    if is_dashboard(given):
        return GRAFANA_DASHBOARD
    if _SERVICES in given or (_OF_SERVICES & set(given) and not _OF_MAPS & set(given)):
        return SERVICE
    return MAP


def kind_of_text(text: str) -> str | None:
    """What a text is, by what only such a text has; None where it is nothing known."""
    if _RUN.search(text):
        return DOCKER_RUN
    return SERVE if _SERVER.search(text) else None


def _of_text(text: str, version: Version, name: str | None, kind: str | None) -> tuple[Subject, ...]:
    found = kind or kind_of_text(text)
    if found == DOCKER_RUN:
        return read_docker_runs(text, version, name)
    if found == SERVE:
        return read_serves(text, version, name)
    raise AuditError(f"the text is nothing that can be audited; expected {EXPECTED}")
