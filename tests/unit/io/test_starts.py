# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""How much fitted into the KV cache of a release, from the evidence of its starts."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths

OLD, NEW = "rel-aaaaaaaaaaaa", "rel-bbbbbbbbbbbb"


def begin(paths, release, tokens, **fields):
    """A start with its log's figures."""
    seq = starts.begin(paths, {"release": release, **fields})
    (paths.start(seq) / "startup.json").write_text(json.dumps({"kv_cache_tokens_usable": tokens}))


@pytest.fixture
def paths(tmp_path):
    """A service on a host of its own."""
    return Paths("chat", str(tmp_path))


def test_the_newest_start_of_the_release_that_became_ready_counts(paths):
    begin(paths, OLD, 900, ready_seconds=2.0)
    begin(paths, OLD, 1000, ready_seconds=2.0)
    begin(paths, OLD, 1)  # it never became ready
    begin(paths, NEW, 2000, ready_seconds=3.0)
    assert starts.kv_cache_tokens(paths, OLD) == 1000
    assert starts.kv_cache_tokens(paths, NEW) == 2000


def test_what_is_not_known_is_none(paths):
    assert starts.kv_cache_tokens(paths, OLD) is None
    starts.begin(paths, {"release": OLD, "ready_seconds": 2.0})
    assert starts.kv_cache_tokens(paths, OLD) is None
    assert starts.kv_cache_tokens(paths, None) is None
