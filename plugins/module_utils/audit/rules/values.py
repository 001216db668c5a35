# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Words as vLLM understands them.

Private to the collection.
"""

from __future__ import annotations

import re


def is_true(text: str | None) -> bool:
    """Whether vLLM takes a variable for switched on: it compares with 1 and true."""
    return (text or "").strip().lower() in {"1", "true"}


def is_commit(revision: str | None) -> bool:
    """Whether a revision is one commit, not a branch or a tag that moves."""
    return bool(re.fullmatch(r"[0-9a-fA-F]{40}", revision or ""))


def is_path(model: str) -> bool:
    """Whether a model is named by a folder."""
    return model.startswith(("/", "./", "../", "~", "$")) or model in {".", ".."}


def repository_of(image: str | None) -> str:
    """The image's name without registry default, tag and digest."""
    name = (image or "").split("@", 1)[0]
    head, colon, tail = name.rpartition(":")
    name = head if colon and "/" not in tail else name
    for prefix in ("docker.io/", "index.docker.io/"):
        name = name[len(prefix) :] if name.startswith(prefix) else name
    return name


def is_official(image: str | None) -> bool:
    """Whether it is the CUDA image that the vLLM project publishes."""
    return repository_of(image) == "vllm/vllm-openai"


def is_official_cpu(image: str | None) -> bool:
    """Whether it is the CPU image that the vLLM project publishes."""
    return repository_of(image) == "vllm/vllm-openai-cpu"
