# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A release that a host has as what is audited, and what an upgrade to another one changes.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..findings import ERROR, Finding
from ..services.measures import size
from .errors import AuditError
from .judge import audit_config
from .subject import SERVICE, Container, Publish, Subject

KEY = "VLLM_API_KEY"


def subject_of_release(
    name: str,
    content: Mapping[str, Any],
    secret_names: Iterable[str] = (),
    previous_words: Iterable[str] | None = None,
) -> Subject:
    """The content of a release; of secrets it has the names only.

    That it may listen without a key was decided when the inventory was judged, and is no finding here.
    """
    secrets = tuple(secret_names)
    has_key = KEY in secrets or any(str(word).partition("=")[0] == "--api-key" for word in content["args"])
    port, bind = str(content["port"]), str(content["bind"])
    published = () if content["network"] == "host" else (Publish(bind, port, port),)
    return Subject(
        kind=SERVICE,
        name=name,
        words=tuple(content["args"]),
        previous_words=None if previous_words is None else tuple(previous_words),
        env={**content["env"]},
        host_bind=bind,
        has_key=has_key,
        exposed_without_key=not has_key,
        container=Container(
            runner="gpuhosts",
            image=f"{content['image']}:{content['tag']}",
            shm_bytes=size(str(content["shm_size"]))[1],
            network=str(content["network"]),
            publishes=published,
            user=content["user"],
            gpus=str(content["gpus"]),
            secret_env=secrets,
        ),
    )


def upgrade_findings(name: str, running: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[Finding]:
    """Between two release contents: what is wrong in the new version, and what only the change between both makes so.

    Of what runs only ``version`` and ``args`` are needed. Nothing where the vLLM version stays: the differences of the
    contents then say all.
    """
    before, after = str(running["version"]), str(wanted["version"])
    if before == after:
        return []
    subject = subject_of_release(name, wanted, previous_words=running["args"])
    try:
        alone = {(each.id, each.subject) for each in audit_config(subject, after).findings}
        found = audit_config(subject, after, before).findings
    except AuditError:
        return []
    return [each for each in found if each.severity == ERROR or (each.id, each.subject) not in alone]
