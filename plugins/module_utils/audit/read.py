# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is given as a subject: it is recognised, then read by the reader of its kind.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..versions import Version
from .dashboard import read_dashboard
from .errors import AuditError
from .reading.compose import read_compose
from .reading.docker_run import read_docker_runs
from .reading.documents import read_documents
from .reading.map import read_map
from .reading.serve import read_serves
from .reading.service import read_service_map, read_service_maps, subject_of_service
from .reading.unit import read_unit
from .recognise import DOCUMENT, DOCUMENTS, SERVICES, is_known, kind_of_map, kind_of_text, named_kind
from .rule_file import read_rule_file
from .subject import COMPOSE, DOCKER_RUN, GRAFANA_DASHBOARD, PROMETHEUS_RULES, SERVE, SERVICE, UNIT, Subject

__all__ = ["read_subject", "read_subjects", "subject_of_service"]
NAME = "subject"
EXPECTED = (
    "a `vllm serve` or `docker run` line, a compose file, a systemd unit, a Prometheus rule file, a Grafana dashboard "
    "or a service definition"
)


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
    said = named_kind(kind)
    if isinstance(given, Mapping):
        return _of_map(given, version, name, said)
    if isinstance(given, str):
        return _of_text(given, version, name, said)
    raise AuditError(f"a {type(given).__name__} is nothing that can be audited; expected a map or a text")


def _of_map(
    given: Mapping[Any, Any], version: Version, name: str | None, kind: str | None, text: str | None = None
) -> tuple[Subject, ...]:
    found = kind or kind_of_map(given)
    if found == COMPOSE:
        return read_compose(given, text, version, name)
    named = name or _name_in(given)
    if found == PROMETHEUS_RULES:
        return (read_rule_file(given, named),)
    if found == GRAFANA_DASHBOARD:
        return (read_dashboard(given, named),)
    if found != SERVICE:
        return (read_map(given, named, version),)
    if isinstance(given.get(SERVICES), Mapping):
        return read_service_maps(given[SERVICES], version, given.get("vllm_defaults"), given.get("vllm_secrets"))
    return (read_service_map(given, version, named),)


def _name_in(given: Mapping[Any, Any]) -> str:
    said = given.get("name")
    return said if isinstance(said, str) and said.strip() else NAME


def _of_text(text: str, version: Version, name: str | None, kind: str | None) -> tuple[Subject, ...]:
    found = kind or kind_of_text(text)
    if found == UNIT:
        return (read_unit(text, version, name),)
    if found == DOCKER_RUN:
        return read_docker_runs(text, version, name)
    if found == SERVE:
        return read_serves(text, version, name)
    if found == DOCUMENT or found in DOCUMENTS:
        return _of_documents(text, version, name, kind)
    raise AuditError(f"the text is nothing that can be audited; expected {EXPECTED}")


def _of_documents(text: str, version: Version, name: str | None, kind: str | None) -> tuple[Subject, ...]:
    """The subjects of all documents; of several, those that are none are left out."""
    documents = read_documents(text)
    known = documents if kind is not None else [each for each in documents if is_known(each)]
    return tuple(one for each in known or documents for one in _of_map(each, version, name, kind, text))
