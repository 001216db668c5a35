# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The image of a running container as the key ``image``, with the digest that it was pulled by.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..findings import ERROR, INFO, WARNING
from ..registry.reference import Reference, parse_reference
from ..versions import Version, parse_version, version_of_tag
from .notes import Notes
from .seen import Seen, texts


@dataclass(frozen=True)
class ImageSaid:
    """What to write, the release in it, and the digest that its lock entry has to have."""

    reference: str | None
    version: Version | None
    write_version: bool
    digest: str | None


def read_image(seen: Seen, notes: Notes) -> ImageSaid:
    """The image by a tag that means one release, as the judgement of services wants it."""
    names = list(_names(seen))
    release = _release(seen.api_version)
    asked = names[0] if names else None
    chosen = next((name for name in names if _tag_version(name) is not None), asked)
    digest = _digest(seen, chosen)
    if chosen is None:
        notes.say("image_unnamed", ERROR, "its image has no name on this host", "give it one in a registry", "image")
        return ImageSaid(None, release, write_version=False, digest=digest)
    tagged = _tag_version(chosen)
    tag = chosen.tag
    if tagged is None and _moves(chosen):
        tag = f"v{release}" if release is not None else None
        _say_moving(chosen, tag, notes)
    _say_release(release, tagged, notes)
    _say_digest(chosen, digest, notes)
    said = tagged or release
    write = bool(said is not None and tag is not None and version_of_tag(tag) is None)
    return ImageSaid(f"{chosen.familiar}:{tag}" if tag else None, said, write, digest)


def _names(seen: Seen) -> Iterator[Reference]:
    """The names of the image, first the one that it was started by; those by digest come without a tag."""
    for text in (str(seen.config.get("Image") or ""), *texts(seen.image.get("RepoTags"))):
        try:
            found = parse_reference(text)
        except ValueError:
            continue
        if not text.startswith("sha256:") and found.familiar != "<none>":
            yield found
    for text in texts(seen.image.get("RepoDigests")):
        try:
            yield parse_reference(text)
        except ValueError:
            continue


def _release(said: str | None) -> Version | None:
    try:
        return parse_version(said) if said else None
    except ValueError:
        return None


def _tag_version(name: Reference) -> Version | None:
    found = version_of_tag(name.tag) if name.tag else None
    return found if found and (str(name.tag).startswith("v") or found.major == 0) else None


def _moves(name: Reference) -> bool:
    tag = name.tag or "latest"
    return tag == "latest" or tag.startswith(("latest-", "nightly"))


def _digest(seen: Seen, name: Reference | None) -> str | None:
    """The digest under the name that is proposed, else the only one that there is."""
    known = [found for text in texts(seen.image.get("RepoDigests")) if (found := _parsed(text)) is not None]
    mine = [each.digest for each in known if name is not None and each.familiar == name.familiar]
    return next(iter(mine), None)


def _parsed(text: str) -> Reference | None:
    try:
        return parse_reference(text)
    except ValueError:
        return None


def _say_moving(name: Reference, tag: str | None, notes: Notes) -> None:
    started = name.text if name.tag or name.digest else f"{name.text}:latest"
    if tag is None:
        remedy = "write image: with the tag of the release, and run the lock playbook"
        notes.say(
            "image_moving", ERROR, f"was started as {started}, and the server does not say its release", remedy, "image"
        )
        return
    message = f"was started as {started}, which is another image every week; its server says that it is {tag}"
    notes.say("image_moving", WARNING, message, "compare the digest below with the lock file", "image")


def _say_release(release: Version | None, tagged: Version | None, notes: Notes) -> None:
    if release is None:
        notes.say(
            "version_unknown", WARNING, "its server did not say its release; the tag is believed", about="version"
        )
    elif tagged is not None and tagged != release:
        message = f"the server says that it is {release}, the tag says {tagged}"
        notes.say("version_differs", ERROR, message, "find out which image this is before you adopt it", "version")


def _say_digest(name: Reference, digest: str | None, notes: Notes) -> None:
    if digest is None:
        remedy = f"push {name.familiar} to a registry that the host pulls from, and start the container from there"
        notes.say(
            "image_local", ERROR, "no registry is known to have this image: a lock file cannot pin it", remedy, "image"
        )
        return
    message = f"runs {name.familiar}@{digest}"
    remedy = "after the lock playbook, the index of this tag in vllm.lock.yml has to be this digest"
    notes.say("image_digest", INFO, message, remedy, "image")
