# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The lock file: which digests the image tags of an inventory mean. Text in and out, nothing is asked of anybody.

An index digest names the image for every architecture; the digest of one of its children would pin the fleet to the
architecture of the host that was asked.

Private to the collection.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SCHEMA = 1
COMMAND = "ansible-playbook gpuhosts.vllm.lock"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_PLATFORM = re.compile(r"[a-z0-9]+/[a-z0-9_]+(?:/[a-z0-9.]+)?")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]*:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_HEAD = f"""---
# Which digest each image tag of this inventory means. Written by `{COMMAND}`:
# review the difference and commit it. A tag stays as it is here until it is named:
# {COMMAND} -e vllm_relock=NAME:TAG
"""


class LockError(ValueError):
    """A lock file that cannot be used; ``problems`` says all that is wrong with it."""

    def __init__(self, problems: Collection[str]) -> None:
        """Keep the problems for the caller's message."""
        self.problems = tuple(problems)
        super().__init__("; ".join(self.problems))


@dataclass(frozen=True)
class LockedPlatform:
    """The image of one platform: its digest, and how many bytes a pull takes when that is known."""

    digest: str
    compressed_bytes: int | None = None


@dataclass(frozen=True)
class LockedImage:
    """What one tag means."""

    index: str
    platforms: tuple[tuple[str, LockedPlatform], ...] = ()


@dataclass(frozen=True)
class Lock:
    """Every locked tag, by ``name:tag``."""

    images: Mapping[str, LockedImage] = field(default_factory=dict)


def parse_lock(data: object) -> Lock:
    """Read what YAML made of the file; an empty file is an empty lock."""
    if data is None:
        return Lock()
    if not isinstance(data, Mapping) or data.get("schema") != SCHEMA or not isinstance(data.get("images"), Mapping):
        raise LockError([f"it is not a lock file of this collection (schema: {SCHEMA} and a map of images)"])
    problems = [problem for name, entry in data["images"].items() for problem in _image_problems(name, entry)]
    if problems:
        raise LockError(problems)
    return Lock({str(name): locked_image(entry["index"], entry["platforms"]) for name, entry in data["images"].items()})


def locked_image(index: str, platforms: Mapping[str, Any]) -> LockedImage:
    """Make an entry from plain data that was judged."""
    return LockedImage(
        str(index),
        tuple(
            (str(name), LockedPlatform(str(found["digest"]), found.get("compressed_bytes")))
            for name, found in sorted(platforms.items())
        ),
    )


def _image_problems(name: object, entry: object) -> Iterator[str]:
    label = f"images.{name!s:.100}"
    if not isinstance(name, str) or not _IMAGE.fullmatch(name):
        yield f"{label}: the name of an entry is an image with its tag, vllm/vllm-openai:v0.32.0 say"
    if not isinstance(entry, Mapping):
        yield f"{label}: expected index and platforms"
        return
    yield from (f"{label}.{key!s:.40}: no such key; an entry has index and platforms" for key in _foreign(entry))
    yield from entry_problems(label, entry.get("index"), entry.get("platforms"))


def _foreign(entry: Mapping[Any, Any]) -> list[Any]:
    return [key for key in entry if key not in ("index", "platforms")]


def entry_problems(label: str, index: object, platforms: object) -> Iterator[str]:
    """Say what is wrong with one entry: digests that are none, and a child given for the index."""
    if not is_digest(index):
        yield f"{label}.index: {_short(index)} is not a digest (sha256: and 64 hexadecimal digits)"
    if not isinstance(platforms, Mapping) or not platforms:
        yield f"{label}.platforms: expected a digest for each platform, linux/amd64 say"
        return
    for name, found in platforms.items():
        yield from _platform_problems(f"{label}.platforms.{name!s:.40}", name, found)
    children = [found.get("digest") for found in platforms.values() if isinstance(found, Mapping)]
    if len(children) > 1 and index in children:
        yield (
            f"{label}.index: {_short(index)} is the digest of one platform, not of the index over all of them; "
            "hosts of another architecture could not run it"
        )


def _platform_problems(label: str, name: object, found: object) -> Iterator[str]:
    if not isinstance(name, str) or not _PLATFORM.fullmatch(name):
        yield f"{label}: expected a platform such as linux/amd64"
    if not isinstance(found, Mapping) or not is_digest(found.get("digest")):
        yield f"{label}: expected digest: sha256: and 64 hexadecimal digits"
        return
    size = found.get("compressed_bytes")
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 0):
        yield f"{label}.compressed_bytes: {_short(size)} is not a number of bytes"


def is_digest(value: object) -> bool:
    """Whether this is a digest in full."""
    return isinstance(value, str) and bool(_DIGEST.fullmatch(value))


def _short(value: object) -> str:
    return repr(value)[:80] if isinstance(value, (str, float, type(None))) else f"a {type(value).__name__}"


def render_lock(lock: Lock) -> str:
    """The file's text: the same lock is the same text, and a changed tag is a change of its own lines."""
    lines = [_HEAD + f"schema: {SCHEMA}"]
    lines.append("images:" if lock.images else "images: {}")
    for name, image in sorted(lock.images.items()):
        lines += [f"  {_quoted(name)}:", f"    index: {image.index}", "    platforms:"]
        for platform, found in image.platforms:
            lines += [f"      {platform}:", f"        digest: {found.digest}"]
            lines += (
                [f"        compressed_bytes: {found.compressed_bytes}"] if found.compressed_bytes is not None else []
            )
    return "\n".join([*lines, ""])


def _quoted(name: str) -> str:
    return f'"{name}"'


def unlocked(lock: Lock, wanted: Collection[str], relock: Collection[str] = ()) -> list[str]:
    """The images to ask a registry for: those that are not locked yet, and those that are named."""
    unknown = sorted(set(relock) - set(wanted) - set(lock.images))
    if unknown:
        have = ", ".join(sorted({*wanted, *lock.images})) or "none"
        raise LockError(
            [f"vllm_relock names {', '.join(unknown)}, which no service uses. Images of this inventory: {have}"]
        )
    return sorted({name for name in wanted if name not in lock.images} | set(relock))


def update_lock(lock: Lock, resolved: Mapping[str, LockedImage], relock: Collection[str] = ()) -> Lock:
    """The lock with what was resolved; an entry that is there stays as it is, unless it is named."""
    named = set(relock)
    taken = {name: image for name, image in resolved.items() if name not in lock.images or name in named}
    problems = [problem for name, image in sorted(taken.items()) for problem in _resolved_problems(name, image)]
    if problems:
        raise LockError(problems)
    return Lock({**lock.images, **taken})


def _resolved_problems(name: str, image: LockedImage) -> Iterator[str]:
    platforms = {platform: {"digest": found.digest} for platform, found in image.platforms}
    return entry_problems(name, image.index, platforms)
