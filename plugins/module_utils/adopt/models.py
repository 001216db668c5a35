# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The model of a running container as the keys ``model`` and ``revision``.

Private to the collection.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

from ..findings import ERROR, INFO, WARNING
from .notes import Notes
from .options import Options
from .seen import Seen

_HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_SNAPSHOT = re.compile(r".*/models--([^/]+?)--([^/]+)/snapshots/([0-9a-f]{40})/?")


@dataclass(frozen=True)
class ModelSaid:
    """What to write; ``written`` is how the words called it, ``folder`` the mount that the model came from."""

    name: str | None
    revision: str | None = None
    written: str | None = None
    target: str | None = None


def read_model(options: Options, seen: Seen, notes: Notes) -> ModelSaid:
    """A path of the host for a path of the container, a commit for a Hugging Face model."""
    written = options.model
    if not written:
        remedy = "write model: (a server that gets none serves vLLM's own default model)"
        notes.say("model_unknown", ERROR, "its words name no model", remedy, "model")
        return ModelSaid(None)
    snapshot = _SNAPSHOT.fullmatch(written)
    if snapshot:
        notes.say("model_snapshot", INFO, "was served from a folder of the Hugging Face cache", about="model")
        return ModelSaid(f"{snapshot.group(1)}/{snapshot.group(2)}", snapshot.group(3), written)
    if written.startswith("/"):
        return _of_path(written, seen, notes)
    if not _HUB_ID.fullmatch(written):
        remedy = "write model: as a Hugging Face id, or copy the model to a path of the host"
        notes.say("model_unreadable", ERROR, "is served from neither the hub nor a folder of the host", remedy, "model")
        return ModelSaid(written, None, written)
    return ModelSaid(written, _commit(options, seen, notes), written)


def _of_path(written: str, seen: Seen, notes: Notes) -> ModelSaid:
    path = posixpath.normpath(written)
    best: tuple[str, str] | None = None
    for mount in seen.mounts:
        target, source = str(mount.get("Destination") or ""), str(mount.get("Source") or "")
        if (
            source
            and (path == target or path.startswith(target.rstrip("/") + "/"))
            and len(target) > len(best[0] if best else "")
        ):
            best = (target, source)
    if best is None:
        remedy = f"copy it out: docker cp {seen.name}:{path} /srv/models/NAME, and write that path as model:"
        notes.say("model_in_image", ERROR, "lies inside of the container, not on the host", remedy, "model")
        return ModelSaid(None, None, written)
    return ModelSaid(posixpath.normpath(best[1] + "/" + path[len(best[0]) :]), None, written, best[0])


def _commit(options: Options, seen: Seen, notes: Notes) -> str | None:
    told = options.revision
    if told is not None and _COMMIT.fullmatch(told):
        return told
    if seen.commit is None:
        remedy = f"write revision: the commit of {options.model} that is served, from its page, Files, History"
        notes.say(
            "revision_unknown",
            ERROR,
            "nothing on the host says which commit of the model is served",
            remedy,
            "revision",
        )
        return None
    branch = told or "main"
    message = f"was served from the branch {branch}; pinned to the commit that the cache of the container has for it"
    notes.say("revision_pinned", WARNING, message, "compare it with the model's page", "revision")
    return seen.commit
