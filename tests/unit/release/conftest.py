# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the release room share: one content of a release, to be varied."""

from __future__ import annotations

from typing import Any, Callable

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import HostFacts, ReleaseRecord, make_record

IMAGE_ID = "sha256:" + "ab" * 32
Make = Callable[..., Any]


def content_of(**changes: Any) -> dict[str, Any]:
    """A content that can be staged."""
    content: dict[str, Any] = {
        "schema": 1,
        "image": "vllm/vllm-openai",
        "tag": "v0.32.0",
        "index_digest": "sha256:" + "cd" * 32,
        "version": "0.32.0",
        "args": ["Qwen/Qwen3-8B", "--host", "0.0.0.0", "--port", "8000", "--served-model-name", "chat", "talk"],
        "env": {"HF_HOME": "/gpuhosts/hf"},
        "mounts": [],
        "gpus": "all",
        "shm_size": "16g",
        "network": "bridge",
        "bind": "127.0.0.1",
        "port": 8000,
        "user": None,
        "ulimits": {},
        "devices": [],
        "docker_args": [],
        "model": {"kind": "hub", "name": "Qwen/Qwen3-8B", "revision": "9c925d6"},
        "after": [],
    }
    return {**content, **changes}


@pytest.fixture
def make_content() -> Make:
    return content_of


@pytest.fixture
def make_release() -> Make:
    def made(host: dict[str, Any] | None = None, **changes: Any) -> ReleaseRecord:
        return make_record("chat", content_of(**changes), HostFacts(**{"image_id": IMAGE_ID, **(host or {})}))

    return made
