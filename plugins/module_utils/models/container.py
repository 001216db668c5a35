# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The throw-away container that fetches a model.

Private to the collection.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field

LABEL_FETCH = "io.gpuhosts.vllm.fetch"
_ROOT = "/gpuhosts"


def fetch_name(repository: str, revision: str) -> str:
    """The name of the job, and of its container: the same for everybody who wants this snapshot."""
    return "model-" + hashlib.sha256(f"{repository}@{revision}".encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Place:
    """Where the container works: the job's folder, the Hugging Face cache of the host, and its network."""

    folder: str
    cache: str
    network: str = "host"


@dataclass(frozen=True)
class Fetch:
    """What the container is made of."""

    name: str
    image: str
    endpoint: str
    place: Place
    environment: Mapping[str, str] = field(default_factory=dict)


def fetch_script(fetch: Fetch) -> str:
    """The commands: one container of the pinned image, without its engine; a leftover of the same name goes first."""
    settings = {
        "HF_HOME": f"{_ROOT}/hf",
        "HF_ENDPOINT": fetch.endpoint,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        **fetch.environment,
    }
    container = f"gpuhosts-vllm-{fetch.name}"
    words = ["docker", "run", "--rm", "--pull", "never", "--name", container, "--label", f"{LABEL_FETCH}={fetch.name}"]
    # Root of the container writes the cache; the server, whoever it runs as, only reads it.
    words += ["--network", fetch.place.network, "--user", "0:0", "--log-driver", "none"]
    words += ["--mount", f"type=bind,source={fetch.place.cache},target={_ROOT}/hf"]
    words += ["--mount", f"type=bind,source={fetch.place.folder}/in,target={_ROOT}/in,readonly"]
    words += ["--mount", f"type=bind,source={fetch.place.folder}/secret,target={_ROOT}/secret,readonly"]
    words += ["--mount", f"type=bind,source={fetch.place.folder}/out,target={_ROOT}/out"]
    for key, value in sorted(settings.items()):
        words += ["--env", f"{key}={value}"]
    words += ["--entrypoint", "python3", fetch.image, f"{_ROOT}/in/fetch.py"]
    leftover = f"docker rm --force {shlex.quote(container)} >/dev/null 2>&1 || true"
    return f"{leftover}\numask 022\n" + " ".join(shlex.quote(word) for word in words)
