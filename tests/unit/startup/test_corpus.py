# SPDX-License-Identifier: Apache-2.0
"""Every real log of the corpus gives exactly its expected values; without the corpus that is skipped, and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"
# Names of the corpus and of the report; the others are the same, or stand in the details.
NAMES = {
    "model_mem_gib": "model_memory_gib",
    "model_mem_gb_v0": "model_memory_gib",
    "model_load_s": "model_load_seconds",
    "weights_load_s": "weights_load_seconds",
    "kv_available_gib": "kv_cache_available_gib",
    "kv_reserved_gib_v0": "kv_cache_available_gib",
    "blocks": "gpu_blocks",
    "compile_s": "compile_seconds",
    "engine_init": "engine_init_seconds",
    "startup_complete_line": "startup_complete",
}
# What a text does not print is not made up.
ABSENT = {
    "engine": None,
    "model": None,
    "kv_cache_tokens_usable": None,
    "startup_complete": False,
    **{
        name: []
        for name in (
            "model_memory_gib", "model_load_seconds", "weights_load_seconds", "kv_cache_available_gib",
            "kv_cache_tokens", "max_concurrency", "gpu_blocks", "compile_seconds", "graph_capture",
            "engine_init_seconds", "earlier_starts",
        )
    },
}  # fmt: skip
NOT_IN_THE_TEXT = ("author_says", "thread_says")


def entries() -> list[dict[str, Any]]:
    index = CORPUS / "index.json"
    known = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
    return [entry for entry in known if entry["kind"] == "log"]


@pytest.mark.skipif(not entries(), reason="the corpus is not beside the checkout (../shared/corpus)")
@pytest.mark.parametrize("entry", entries(), ids=lambda entry: str(entry["file"]))
def test_a_real_log(entry: dict[str, Any]) -> None:
    found = parse_startup_log((CORPUS / entry["file"]).read_bytes()).to_dict()
    told = {NAMES.get(name, name): value for name, value in entry["expected"].items() if name not in NOT_IN_THE_TEXT}
    wanted = {**ABSENT, **told, "vllm_version": entry["vllm_version"], "diagnosis": entry["diagnosis"]}
    assert {name: found.get(name, found["details"].get(name)) for name in wanted} == wanted


@pytest.mark.skipif(not entries(), reason="the corpus is not beside the checkout (../shared/corpus)")
def test_what_failed_has_evidence_that_stands_in_the_text() -> None:
    for entry in entries():
        found = parse_startup_log((CORPUS / entry["file"]).read_bytes())
        assert bool(found.evidence) == (found.diagnosis != "none"), entry["file"]
