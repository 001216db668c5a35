# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The mounts of a container: caches that the collection has itself, the model's folder, and the rest.

Private to the collection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ..findings import INFO, WARNING
from ..services.docker_args import owned_target
from ..services.owned import OWNED_SOURCES
from .models import ModelSaid
from .notes import Notes
from .seen import Seen, part

HUB = "/root/.cache/huggingface"
# Where images keep what can be fetched or computed again.
_CACHES = re.compile(
    r"(?:.*/\.cache(?:/(?:huggingface|vllm|torch|flashinfer|triton)(?:/.*)?)?|.*/\.triton(?:/.*)?"
    r"|/tmp/torchinductor_.*|.*/\.cache/huggingface/hub|.*/\.config/vllm)"
)
_CACHE_VARIABLES = (
    "HF_HOME",
    "HF_HUB_CACHE",
    "HUGGINGFACE_HUB_CACHE",
    "TRANSFORMERS_CACHE",
    "VLLM_CACHE_ROOT",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "FLASHINFER_WORKSPACE_BASE",
)
_ANONYMOUS = re.compile(r"[0-9a-f]{64}")
_DOCKER = re.compile(r"/(?:var/)?run/docker\.sock|/(?:var/)?run/containerd.*")


def hub_folder(seen: Seen) -> str:
    """Where the server keeps the models of the hub, inside of the container."""
    told = seen.env("HF_HUB_CACHE") or seen.env("HUGGINGFACE_HUB_CACHE")
    return told or f"{seen.env('HF_HOME') or HUB}/hub"


def read_mounts(seen: Seen, model: ModelSaid, config: Mapping[str, Any], notes: Notes) -> list[dict[str, Any]]:
    """The mounts of the definition."""
    caches = {value.rstrip("/") for name in _CACHE_VARIABLES if (value := seen.env(name))}
    found = []
    for mount in seen.mounts:
        target, source = str(mount.get("Destination") or "").rstrip("/"), str(mount.get("Source") or "")
        if _is_left_out(target, source, mount, caches, notes):
            continue
        if target == model.target and not _is_used(target, model, config, seen):
            message = f"{source} was mounted on {target} for the model; the service mounts the model under its own path"
            notes.say("model_mount", INFO, message, about="mounts")
            continue
        if mount.get("Type") == "volume":
            message = f"the volume {mount.get('Name')} becomes a mount of {source}: docker volume rm would take it away"
            notes.say("volume", WARNING, message, about="mounts")
        found.append({"source": source, "target": target, "read_only": mount.get("RW") is False})
    return found


def _is_left_out(target: str, source: str, mount: Mapping[str, Any], caches: set[str], notes: Notes) -> bool:
    if _CACHES.fullmatch(target) or target in caches:
        message = f"{source} on {target} is a cache; the collection has its own below /var/cache/gpuhosts-vllm, and "
        notes.say("cache", INFO, f"{message}fetches the model before anything stops", about="mounts")
        return True
    if target == "/dev/shm":
        notes.say("shm_mount", INFO, f"{source} on /dev/shm is the key shm_size instead", about="mounts")
        return True
    if _DOCKER.fullmatch(target) or owned_target(target) or source.startswith(OWNED_SOURCES):
        message = f"{source} on {target} is not carried over: a service does not get this"
        notes.say("mount_refused", WARNING, message, about="mounts")
        return True
    if mount.get("Type") not in ("bind", "volume") or not source:
        return True
    return mount.get("Type") == "volume" and bool(_ANONYMOUS.fullmatch(str(mount.get("Name") or "")))


def _is_used(target: str, model: ModelSaid, config: Mapping[str, Any], seen: Seen) -> bool:
    """Whether something else than the model is read from there, a chat template say."""
    said = json.dumps([{key: value for key, value in config.items() if key != "served-model-name"}, seen.own_env])
    return target + "/" in said.replace(str(model.written), "")


def tmpfs_words(seen: Seen) -> list[str]:
    """File systems in memory as words of ``docker run``."""
    found = []
    for target, options in part(seen.host, "Tmpfs").items():
        if not owned_target(str(target)):
            found.append(f"--tmpfs={target}:{options}" if options else f"--tmpfs={target}")
    return found
