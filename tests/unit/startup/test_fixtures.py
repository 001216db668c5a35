# SPDX-License-Identifier: Apache-2.0
"""Every diagnosis and every shape of lines, in logs of our own: what each says is found exactly, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.slugs import SLUGS
from tests.unit.startup.shaped import FOLDER, MADE, Fixture, fixtures

FIXTURES = fixtures()
# What a log can lack: each of these is empty unless the index names it.
FACTS: dict[str, Any] = {
    "vllm_version": None,
    "engine": None,
    "model": None,
    "model_memory_gib": [],
    "model_load_seconds": [],
    "weights_load_seconds": [],
    "kv_cache_available_gib": [],
    "kv_cache_tokens": [],
    "kv_cache_tokens_usable": None,
    "max_concurrency": [],
    "gpu_blocks": [],
    "compile_seconds": [],
    "graph_capture": [],
    "engine_init_seconds": [],
    "startup_complete": False,
    "earlier_starts": [],
}
# Signals are no errors, and a good start has none.
NO_ERROR = {"none", "sigterm_after_ready", "sigterm_during_start", "user_interrupt", "killed_sigkill"}
SHAPES = {
    "plain", "v0_header", "json_logging", "interleaved", "restarts", "worker_line", "cut", "newest_first",
    "hard_wrapped", "table_borders", "ansi", "ansi_without_esc", "carriage_returns", "glued_bars", "crlf", "nul_bytes",
    "invalid_utf8", "compose", "journald", "kubernetes_cri", "kubectl_prefix", "ci_stamp", "notebook_ray",
    "torchrun_rank", "piped_logger", "docker_rfc3339", "docker_json",
}  # fmt: skip
STATES = {"ready", "starting", "failed", "crashed", "stopped", "serving_error"}


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: fixture.name)
def test_a_log_gives_exactly_what_it_says(fixture: Fixture) -> None:
    found = parse_startup_log(fixture.data).to_dict()
    assert (found["state"], found["diagnosis"]) == (fixture.state, fixture.diagnosis)
    assert {name: found[name] for name in FACTS} == {**FACTS, **fixture.expected}
    assert {name: found["details"].get(name) for name in fixture.details} == fixture.details
    assert any(fixture.evidence in line for line in found["evidence"]) or not fixture.evidence
    assert found["evidence"] or fixture.diagnosis == "none"
    assert found["first_error_line"] or fixture.diagnosis in NO_ERROR


def test_every_diagnosis_is_covered() -> None:
    assert {fixture.diagnosis for fixture in FIXTURES} - {"none"} == set(SLUGS) - {"none"}


def test_every_shape_and_state_is_covered() -> None:
    assert {shape for fixture in FIXTURES for shape in fixture.shapes} == SHAPES
    assert {fixture.state for fixture in FIXTURES} == STATES
    assert {fixture.made for fixture in FIXTURES} == set(MADE)


def test_every_file_is_in_the_index_and_small() -> None:
    assert sorted(path.name for path in FOLDER.glob("*.log")) == sorted(fixture.file for fixture in FIXTURES)
    assert all(fixture.data.count(b"\n") <= 40 for fixture in FIXTURES)


@pytest.mark.parametrize("fixture", [each for each in FIXTURES if each.evidence], ids=lambda fixture: fixture.name)
def test_the_evidence_comes_from_the_log(fixture: Fixture) -> None:
    """A test that could not fail would be worth nothing: the causal text is really in the file, once made."""
    joined = fixture.data.decode("utf-8", "replace").replace("\n", "")
    assert fixture.evidence in joined
