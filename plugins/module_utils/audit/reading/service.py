# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A service definition, and the content of a release that was made from one, as a subject.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...services.content import release_content
from ...services.measures import size
from ...services.model import Service
from ...services.parse import parse_services
from ...services.problems import ServicesError
from ...versions import Version
from ..errors import AuditError
from ..subject import OURS, SERVICE, Container, Publish, Subject

KEY = "VLLM_API_KEY"
OPEN = "exposed_without_key"


def subject_of_service(service: Service) -> Subject:
    """What a host would run of a judged service: its words, its environment, its container."""
    content = release_content(service, "")  # the digest says nothing that an audit reads
    subject = subject_of_content(service.name, content, service.secret_names)
    return replace(subject, exposed_without_key=service.exposed_without_key)


def subject_of_content(
    name: str,
    content: Mapping[str, Any],
    secret_names: Iterable[str] = (),
    previous_words: Iterable[str] | None = None,
) -> Subject:
    """The content of a release; of secrets it has the names only."""
    secrets = tuple(secret_names)
    port, bind = str(content["port"]), str(content["bind"])
    published = () if content["network"] == "host" else (Publish(bind, port, port),)
    return Subject(
        kind=SERVICE,
        name=name,
        words=tuple(content["args"]),
        previous_words=None if previous_words is None else tuple(previous_words),
        env={**content["env"]},
        host_bind=bind,
        has_key=KEY in secrets or any(str(word).partition("=")[0] == "--api-key" for word in content["args"]),
        container=Container(
            runner=OURS,
            image=f"{content['image']}:{content['tag']}",
            shm_bytes=size(str(content["shm_size"]))[1],
            network=str(content["network"]),
            publishes=published,
            user=content["user"],
            gpus=str(content["gpus"]),
            secret_env=secrets,
        ),
    )


def read_service_map(given: Mapping[str, Any], version: Version, name: str) -> Subject:
    """One definition as an inventory has it under its service's name, as ``version`` would run it."""
    (subject,) = read_service_maps({name: {key: item for key, item in given.items() if key != "name"}}, version)
    return subject


def read_service_maps(
    services: Mapping[str, Any], version: Version, defaults: object = None, secrets: object = None
) -> tuple[Subject, ...]:
    """All services of an inventory; AuditError with every problem of theirs.

    A server that is reached without a key is a finding of the audit, so it is no problem here.
    """
    asked = {name: _opened(given) if isinstance(given, Mapping) else given for name, given in services.items()}
    try:
        found = parse_services(asked, defaults, secrets)
    except ServicesError as error:
        lines = "; ".join(problem.line() for problem in error.problems)
        raise AuditError(f"the service definition cannot be used: {lines}") from error
    except (TypeError, ValueError, RecursionError) as error:
        raise AuditError(f"the service definition cannot be read: {error}") from error
    return tuple(_as_run(service, services[service.name], version) for service in found)


def _opened(given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given, OPEN: True} if isinstance(given.get(OPEN, False), bool) else {**given}


def _as_run(service: Service, given: Mapping[str, Any], version: Version) -> Subject:
    """The words are those for the release that is asked about, whatever the tag of today says."""
    return subject_of_service(replace(service, version=version, exposed_without_key=given.get(OPEN) is True))
