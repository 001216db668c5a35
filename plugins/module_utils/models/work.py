# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One fetch of a model: what is asked of the container, how far it is, what came back.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..host.refusal import Refusal, refusal
from ..host.room import moved
from .answers import Asked, hub_refusal, status_of
from .snapshot import HubFile, Manifest, repository_folder


def fetch_request(asked: Asked, files: Sequence[HubFile], commit: str) -> dict[str, Any]:
    """What the program in the container reads, and who follows it."""
    return {
        "repository": asked.repository,
        "revision": asked.revision,
        "commit": commit,
        "files": {each.path: each.digest for each in files},
        "total": sum(each.size or 0 for each in files),
    }


def fetch_progress(request: Mapping[str, Any], cached: Mapping[str, int], proving: Mapping[str, Any]) -> str:
    """Say in one line how far it is: bytes that are here, then bytes that are proven."""
    total = int(request.get("total") or 0)
    if proving:
        return f"proving {moved(int(proving.get('bytes') or 0))} of {moved(total)}"
    wanted = {digest for digest in (request.get("files") or {}).values() if digest}
    here = sum(size for name, size in cached.items() if name.split(".", 1)[0] in wanted)
    return f"{moved(here)} of {moved(total)} fetched"


def fetched(asked: Asked, request: Mapping[str, Any], result: Mapping[str, Any], log: str) -> Manifest:
    """Read the container's result; a Refusal says what went wrong in it."""
    error = result.get("error")
    if error:
        raise _explain(asked, error)
    if not result.get("files"):
        raise _no_result(asked, log)
    files = tuple(HubFile(**entry) for entry in result["files"])
    return Manifest(asked.repository, asked.revision, str(result.get("folder") or request["commit"]), files)


def _explain(asked: Asked, error: Mapping[str, Any]) -> Refusal:
    name, said = str(error.get("exception")), str(error.get("message"))
    if name == "ImportError":
        return refusal(
            "hub_library",
            asked.subject,
            f"the image of this service has no huggingface_hub ({said})",
            "use an image of vLLM, or copy the model to the host and give its path as model:",
        )
    if name in ("Damaged", "Missing"):
        return refusal("model_damaged", asked.subject, said, "run again: what is right is kept")
    if "No space left" in said:
        return refusal("disk_room", asked.subject, said, "free room on the disk of the cache, then run again")
    return hub_refusal(asked, status_of(name, error.get("status")), f"{name}: {said}")


def _no_result(asked: Asked, log: str) -> Refusal:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    folder = repository_folder(asked.repository)
    return refusal(
        "fetch_failed",
        asked.subject,
        f"the container that fetches {folder} left no result; it said: {lines[-1] if lines else 'nothing'}",
        "run again: what was fetched is kept; see also: journalctl -u docker",
    )
