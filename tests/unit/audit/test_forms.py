# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""JSON that is broken and numbers that are none are named; every form that vLLM reads is silent."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config

IDS = {"option_json_broken", "option_not_a_number"}


def _found(words: list[str], version: str = "0.26.0") -> list[tuple[str, str]]:
    found = audit_config({"args": words}, version).findings
    return [(each.id, each.subject.split()[-1]) for each in found if each.id in IDS]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--speculative-config", '{"method": "ngram"'),
        ("--speculative-config", "{method: ngram}"),
        ("--speculative-config", "ngram"),
        ("--speculative-config", "{'method': 'ngram'}"),
        ("--hf-overrides", '{"a": 1,}'),
        ("--limit-mm-per-prompt", "{image: 2}"),
        ("--allowed-origins", '["https://a.example.org"'),
        ("--compilation-config", '{"level": 3'),
    ],
)
def test_broken_json_is_an_error(option: str, value: str) -> None:
    assert _found(["m", option, value]) == [("option_json_broken", option)]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--port", "80x"),
        ("--tensor-parallel-size", "two"),
        ("--gpu-memory-utilization", "90%"),
        ("--gpu-memory-utilization", "0,9"),
        ("--max-model-len", "32kb"),
        ("--max-num-seqs", "many"),
        ("--seed", "abc"),
    ],
)
def test_a_word_for_a_number_is_an_error(option: str, value: str) -> None:
    assert _found(["m", option, value]) == [("option_not_a_number", option)]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--max-model-len", "32k"),
        ("--max-model-len", "32K"),
        ("--max-model-len", "auto"),
        ("--max-model-len", "-1"),
        ("--max-model-len", "4096"),
        ("--max-num-batched-tokens", "1.5k"),
        ("--gpu-memory-utilization", "0.9"),
        ("--gpu-memory-utilization", ".9"),
        ("--mm-processor-cache-gb", "4.5"),
        ("--port", "${PORT:-8000}"),
        ("--port", "$PORT"),
        ("--port", "{{ vllm_port }}"),
        ("--speculative-config", '{"method": "ngram", "inner": {"a": {"b": 1}}}'),
        ("--speculative-config", "{{ speculative | to_json }}"),
        ("--speculative-config", "$SPECULATIVE"),
        ("--compilation-config", "3"),
        ("--hf-overrides", "{}"),
        ("--limit-mm-per-prompt", '{"image": 2}'),
        ("--pt-load-map-location", "cuda:0"),
        ("--allowed-origins", '["*"]'),
        ("--block-size", "16"),
        ("--quantization", "fp8"),
        ("--served-model-name", "{chat}"),
        ("--swap-space", "x"),
        ("--brand-new", "{"),
    ],
)
def test_what_vllm_reads_or_does_not_have_is_silent(option: str, value: str) -> None:
    assert _found(["m", option, value]) == []


def test_the_value_of_broken_json_is_not_shown() -> None:
    report = audit_config({"args": ["--kv-transfer-config", '{"token": "planted-4711']}, "0.26.0")
    assert [each.id for each in report.errors] == ["option_json_broken"]
    assert "planted-4711" not in repr(report)
