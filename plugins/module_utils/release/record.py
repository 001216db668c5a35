# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a release is: its portable content, the id that follows from it, and what a host records beside it.

The content holds nothing of one host, so the same definition has the same id everywhere, known before any pull.
Private to the collection.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

SCHEMA = 1
ID_DIGITS = 12
DEVICE_REQUESTS = ("cdi", "gpus", "none")

_NULL = type(None)
_TYPES: dict[str, tuple[type, ...]] = {
    "schema": (int,),
    "image": (str,),
    "tag": (str,),
    "index_digest": (str,),
    "version": (str,),
    "args": (list, tuple),
    "env": (dict,),
    "mounts": (list, tuple),
    "gpus": (str, int, list, tuple),
    "shm_size": (str,),
    "network": (str,),
    "bind": (str,),
    "port": (int,),
    "user": (str, _NULL),
    "ulimits": (dict,),
    "devices": (list, tuple),
    "docker_args": (list, tuple),
    "model": (dict,),
    "after": (list, tuple),
}
_WORD_LISTS = ("args", "devices", "docker_args", "after")
_WORD_MAPS = ("env", "ulimits")


class RecordError(ValueError):
    """A release content or record that this tool cannot take; ``problems`` says all that is wrong with it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True)
class HostFacts:
    """What one host adds to a release: needed to run it, no part of its id."""

    image_id: str
    device_request: str = "none"
    platform_digest: str | None = None
    secret_names: tuple[str, ...] = ()
    uid: int = 0
    gid: int = 0
    tool_version: str | None = None


@dataclass(frozen=True)
class ReleaseRecord:
    """One release as a host keeps it in ``release.json``."""

    id: str
    service: str
    content: Mapping[str, Any]
    host: HostFacts


def canonical(content: Mapping[str, Any]) -> str:
    """Write ``content`` in the one form that is hashed: sorted keys, no spaces, characters as they are."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def release_id(content: Mapping[str, Any]) -> str:
    """Name the release with this content: ``rel-`` and 12 hex digits."""
    digest = hashlib.sha256(canonical(content).encode("utf-8", "surrogatepass")).hexdigest()
    return "rel-" + digest[:ID_DIGITS]


def content_problems(content: Mapping[str, Any]) -> list[str]:
    """Say everything that is wrong with a release content; an empty list means that it can be staged."""
    problems = [f"content.{key} is missing" for key in _TYPES if key not in content]
    problems += [f"content.{key} is not known to this tool" for key in content if key not in _TYPES]
    problems += [
        f"content.{key} is {value!r}, expected {_type_names(_TYPES[key])}"
        for key, value in content.items()
        if key in _TYPES and not _is_a(value, _TYPES[key])
    ]
    return problems or _value_problems(content)


def make_record(service: str, content: Mapping[str, Any], host: HostFacts) -> ReleaseRecord:
    """Make the record of a release on one host; RecordError when the content or the facts cannot be run."""
    problems = content_problems(content)
    if host.device_request not in DEVICE_REQUESTS:
        problems.append(f"device_request is {host.device_request!r}, expected one of {', '.join(DEVICE_REQUESTS)}")
    if not host.image_id.startswith("sha256:"):
        problems.append(f"image_id is {host.image_id!r}, expected sha256:<hex> of an image on this host")
    if problems:
        raise RecordError(problems)
    return ReleaseRecord(release_id(content), service, content, host)


def record_to_dict(record: ReleaseRecord) -> dict[str, Any]:
    """Give a record as the plain data of ``release.json``."""
    host = {**asdict(record.host), "secret_names": sorted(record.host.secret_names)}
    return {
        "schema": SCHEMA,
        "id": record.id,
        "service": record.service,
        "content": dict(record.content),
        "host": host,
    }


def record_from_dict(data: Mapping[str, Any]) -> ReleaseRecord:
    """Read a record back; RecordError when it is of another schema or its content was edited by hand."""
    if data.get("schema") != SCHEMA:
        raise RecordError([f"release.json has schema {data.get('schema')!r}, this tool reads {SCHEMA}"])
    try:
        facts = {**data["host"], "secret_names": tuple(data["host"].get("secret_names") or ())}
        record = ReleaseRecord(data["id"], data["service"], data["content"], HostFacts(**facts))
    except (KeyError, TypeError, AttributeError) as error:
        raise RecordError([f"release.json does not have the expected shape: {error}"]) from error
    found = release_id(record.content)
    if found != record.id:
        raise RecordError([f"release.json says {record.id}, but its content is that of {found}: it was edited"])
    return record


def _is_a(value: Any, allowed: tuple[type, ...]) -> bool:
    if isinstance(value, bool):  # a bool is an int in Python, and never what a release means
        return False
    return isinstance(value, allowed)


def _type_names(allowed: tuple[type, ...]) -> str:
    return " or ".join("null" if kind is _NULL else kind.__name__ for kind in allowed if kind is not tuple)


def _value_problems(content: Mapping[str, Any]) -> list[str]:
    problems: list[str] = []
    if content["schema"] != SCHEMA:
        problems.append(f"content.schema is {content['schema']!r}, this tool writes {SCHEMA}")
    if not content["index_digest"].startswith("sha256:"):
        problems.append(f"content.index_digest is {content['index_digest']!r}, expected sha256:<hex>")
    for key in _WORD_LISTS:
        problems += [f"content.{key} holds {word!r}, expected words" for word in content[key] if not _is_word(word)]
    for key in _WORD_MAPS:
        problems += [
            f"content.{key}.{name} is {v!r}, expected text" for name, v in content[key].items() if not _is_word(v)
        ]
    problems += _mount_problems(content["mounts"])
    problems += _model_problems(content["model"])
    return problems


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _mount_problems(mounts: Any) -> list[str]:
    return [
        f"content.mounts holds {mount!r}, expected source, target and read_only"
        for mount in mounts
        if not isinstance(mount, Mapping) or set(mount) != {"source", "target", "read_only"}
    ]


def _model_problems(model: Mapping[str, Any]) -> list[str]:
    if set(model) != {"kind", "name", "revision"} or model["kind"] not in ("path", "hub"):
        return [f"content.model is {model!r}, expected kind (path or hub), name and revision"]
    return []
