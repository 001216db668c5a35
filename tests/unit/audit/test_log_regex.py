# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A pattern for the log of a start: what it reads now, and the release from which it reads nothing."""

from __future__ import annotations

import time

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding


def _found(pattern: str, version: str, **more: object) -> list[Finding]:
    given = {"log_regex": pattern, **more}
    return [each for each in audit_config(given, version).findings if each.id.startswith("LOG_")]


@pytest.mark.parametrize(
    ("pattern", "version"),
    [
        (r"GPU KV cache size: ([\d,]+) tokens", "0.26.0"),
        (r"Application startup complete", "0.20.2"),
        (r".*", "0.26.0"),
        (r"my own application says (\d+)", "0.26.0"),
        (r"Maximum concurrency", "0.33.0"),
    ],
)
def test_what_goes_on_to_match_is_silent(pattern: str, version: str) -> None:
    assert _found(pattern, version) == []


def test_an_end_that_one_line_takes_away() -> None:
    (only,) = _found(r"GPU KV cache size: ([\d,]+) tokens$", "0.26.0")
    assert (only.id, only.since, only.severity) == ("LOG_PATTERN_BREAKS_LATER", "0.28.0", "warning")
    assert only.subject == "subject kv_cache_tokens"
    assert "GPU KV cache size" in only.expected


def test_an_anchor_that_a_prefix_broke_is_said_for_now() -> None:
    found = {each.id: each for each in _found(r"^INFO .* GPU KV cache size: ([\d,]+) tokens$", "0.26.0")}
    assert set(found) == {"LOG_PATTERN_BREAKS_NOW", "LOG_PATTERN_BREAKS_LATER"}
    assert found["LOG_PATTERN_BREAKS_NOW"].since == "0.10.1"
    assert _found(r"^INFO .* GPU KV cache size: ([\d,]+) tokens$", "0.10.0")[0].since == "0.10.1"


def test_a_line_that_is_gone_is_said() -> None:
    (later,) = _found("vLLM API server version", "0.24.0")
    assert (later.id, later.since) == ("LOG_PATTERN_BREAKS_LATER", "0.25.0")
    (now,) = _found("vLLM API server version", "0.26.0")
    assert (now.id, now.since, now.severity) == ("LOG_PATTERN_BREAKS_NOW", "0.25.0", "error")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(", "x" * 501, "(.*)*y", ".*.*.*.*=", "a{1,99999999999999}"])
def test_what_cannot_be_tried_is_said_and_takes_no_time(pattern: str) -> None:
    begin = time.perf_counter()
    found = _found(pattern, "0.26.0")
    assert time.perf_counter() - begin < 2
    assert [each.id for each in found] == ["LOG_PATTERN_NOT_CHECKED"]


def test_a_fatal_text_that_was_corrected_is_said() -> None:
    (later,) = _found("models's max seq len", "0.21.0")
    assert (later.id, later.since, later.subject) == ("LOG_PATTERN_BREAKS_LATER", "0.22.0", "subject kv_too_small")
    assert [each.id for each in _found("models's max seq len", "0.22.0")] == ["LOG_PATTERN_BREAKS_NOW"]
    assert _found("models?'s max seq len", "0.21.0") == []


def test_lines_of_uvicorn_lose_the_process() -> None:
    (later,) = _found(r"^\(APIServer pid=\d+\) INFO:     Started server", "0.30.0")
    assert (later.id, later.since) == ("LOG_PATTERN_BREAKS_LATER", "0.31.0")
    assert _found("Started server process", "0.30.0") == []
