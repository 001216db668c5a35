# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The image of a service, the vLLM release in it, and the model that it serves.

Private to the collection.
"""

from __future__ import annotations

import re
from typing import Any

from ..registry.reference import parse_reference
from ..versions import Version, parse_version, version_of_tag
from .model import Image, Model
from .names import path
from .problems import Complaints
from .schema import MIN_VERSION

_HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_EXAMPLE = "name:tag, vllm/vllm-openai:v0.32.0 say"
RELOCK = "ansible-playbook gpuhosts.vllm.lock"


def read_image(value: str, complaints: Complaints) -> Image | None:
    """An image by tag: what people read is the tag, what runs is the digest that the lock file keeps for it."""
    try:
        found = parse_reference(value)
    except ValueError:
        complaints.at("image", value, _EXAMPLE)
        return None
    if found.digest or value.endswith("@"):
        complaints.at(
            "image", value, f"{_EXAMPLE}, without a digest; the digest is kept in vllm.lock.yml", next_step=RELOCK
        )
    elif not found.tag:
        complaints.at(
            "image", value, f"{_EXAMPLE}; without a tag it would be latest, which is another image every week"
        )
    elif found.tag == "latest" or found.tag.startswith("latest-"):
        complaints.at("image", value, f"{_EXAMPLE}; latest is another image every week")
    else:
        return Image(value.rpartition(":")[0], found.tag)
    return None


def looks_like_image(value: object) -> bool:
    """Whether this is an image by tag that a lock file could have."""
    return isinstance(value, str) and read_image(value, Complaints("")) is not None


def read_version(value: str | None, image: Image | None, complaints: Complaints) -> Version | None:
    """The release in the image: what ``version`` says, or else what the tag says."""
    told = _told_version(value, complaints) if value is not None else None
    if image is None or (value is not None and told is None):
        return None
    tagged = _tag_version(image.tag)
    if told and tagged and told != tagged:
        allowed = f"the release that the tag {image.tag} says ({tagged}), or no version at all"
        complaints.at("version", value, allowed)
        return None
    found = told or tagged
    if found is None:
        allowed = "the vLLM release in the image, in quotes, since its tag does not say it: version: '0.32.0'"
        complaints.say("version", f"nothing, and the tag is {image.tag}", allowed)
    elif found < parse_version(MIN_VERSION):
        allowed = f"{MIN_VERSION} and newer: older images have another entry point"
        complaints.say("version" if told else "image", f"vLLM {found}", allowed)
        return None
    return found


def _told_version(value: str, complaints: Complaints) -> Version | None:
    try:
        return parse_version(value)
    except ValueError:
        complaints.at("version", value, "a vLLM release, '0.32.0' say")
        return None


def _tag_version(tag: str) -> Version | None:
    """A tag is believed when it is written the way vLLM writes its own; 25.09-py3 is a month, not a release."""
    found = version_of_tag(tag)
    return found if found and (tag.startswith("v") or found.major == 0) else None


def read_model(value: str, revision: str | None, complaints: Complaints) -> Model | None:
    """A path on the host, or a commit of a Hugging Face repository."""
    if value.startswith("/"):
        return _path_model(value, revision, complaints)
    if not _HUB_ID.fullmatch(value) or ".." in value:
        complaints.at("model", value, "a Hugging Face id (Qwen/Qwen3-8B), or an absolute path on the host")
        return None
    if revision is None or not _COMMIT.fullmatch(revision):
        allowed = f"the commit of {value}: 40 hexadecimal digits, from its page, Files, History"
        complaints.at("revision", revision, f"{allowed}; a branch such as main moves")
        return None
    return Model("hub", value, revision)


def _path_model(value: str, revision: Any, complaints: Complaints) -> Model | None:
    if revision is not None:
        complaints.at("revision", revision, "nothing, because the model is a path: what lies there is what is served")
    try:
        folder = path(value)
    except ValueError as error:
        complaints.at("model", value, str(error))
        return None
    if folder == "/":
        complaints.at("model", value, "the folder of one model")
        return None
    return Model("path", folder)
