# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Image references are read the way Docker reads them."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.reference import parse_reference

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "server", "path", "familiar", "wanted"),
    [
        ("vllm/vllm-openai:v0.32.0", "docker.io", "vllm/vllm-openai", "vllm/vllm-openai", "v0.32.0"),
        ("debian", "docker.io", "library/debian", "debian", "latest"),
        ("docker.io/debian:12", "docker.io", "library/debian", "debian", "12"),
        ("registry.example:5443/a/b/c:1", "registry.example:5443", "a/b/c", "registry.example:5443/a/b/c", "1"),
        ("localhost/a", "localhost", "a", "localhost/a", "latest"),
        (f"vllm/vllm-openai@{DIGEST}", "docker.io", "vllm/vllm-openai", "vllm/vllm-openai", DIGEST),
        (f"vllm/vllm-openai:v1@{DIGEST}", "docker.io", "vllm/vllm-openai", "vllm/vllm-openai", DIGEST),
    ],
)
def test_reads(text, server, path, familiar, wanted):
    reference = parse_reference(text)
    assert (reference.server, reference.path, reference.familiar, reference.wanted) == (server, path, familiar, wanted)


@pytest.mark.parametrize(
    "text", ["", "Vllm/openai", "a b", "vllm/openai:", "vllm/openai:a/b:c d", "x@sha256:12", ":v1", "a//b"]
)
def test_refuses(text):
    with pytest.raises(ValueError, match=r".+"):
        parse_reference(text)
