# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of expressions, rule files and dashboards: what is gone, and the expression that takes its place."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding

RULES = {
    "groups": [
        {
            "name": "vllm",
            "rules": [
                {"alert": "CacheFull", "expr": 'vllm:gpu_cache_usage_perc{job="vllm"} > 0.95'},
                {"alert": "Slow", "expr": "histogram_quantile(0.9, vllm:time_per_output_token_seconds_bucket) > 1"},
                {"record": "vllm:load", "expr": "sum(vllm:num_requests_running)"},
                {"alert": "Load", "expr": "vllm:load > 5"},
            ],
        }
    ]
}
BOARD = {
    "title": "vLLM",
    "panels": [
        {"id": 4, "title": "KV cache", "targets": [{"refId": "A", "expr": "vllm:gpu_cache_usage_perc"}]},
        {"id": 5, "title": "Running", "targets": [{"refId": "A", "expr": "vllm:num_requests_running"}]},
    ],
}


def _found(given: object, version: str) -> list[Finding]:
    return [each for each in audit_config(given, version).findings if each.id.startswith("METRIC_")]


def test_a_rule_file_names_group_and_rule_and_proposes_the_expression() -> None:
    cache, slow = _found(RULES, "0.26.0")
    assert cache.id == slow.id == "METRIC_REMOVED"
    assert cache.subject.endswith("group vllm alert CacheFull vllm:gpu_cache_usage_perc")
    assert cache.expected == 'vllm:kv_cache_usage_perc{job="vllm"} > 0.95'
    assert cache.remedy == f"Write it as: {cache.expected}"
    assert slow.subject.endswith("group vllm alert Slow vllm:time_per_output_token_seconds")
    assert slow.expected == "histogram_quantile(0.9, vllm:inter_token_latency_seconds_bucket) > 1"


def test_a_rule_file_that_fits_is_silent() -> None:
    assert _found(RULES, "0.9.1") == []


def test_a_dashboard_names_the_panel() -> None:
    (only,) = _found(BOARD, "0.12.0")
    assert only.subject.endswith("panel 4 KV cache query A vllm:gpu_cache_usage_perc")
    assert only.expected == "vllm:kv_cache_usage_perc"
    assert _found(BOARD, "0.10.2") == []


def test_a_hidden_metric_says_how_it_is_shown() -> None:
    (only,) = _found({"alert_expr": "vllm:gpu_cache_usage_perc > 0.95"}, "0.11.2")
    assert only.id == "METRIC_HIDDEN"
    assert only.replacement == "vllm:kv_cache_usage_perc"
    assert "--show-hidden-metrics-for-version=0.10" in only.message


@pytest.mark.parametrize("word", ["--show-hidden-metrics-for-version=0.10", "--show-hidden-metrics-for-version"])
def test_only_the_release_before_shows_what_is_hidden(word: str) -> None:
    for value, ids in (("0.10", []), ("0.9", ["METRIC_HIDDEN"]), ("0.10.0", ["METRIC_HIDDEN"])):
        args = [f"{word.partition('=')[0]}={value}"]
        given = {"alert_expr": "vllm:gpu_cache_usage_perc > 0.95", "args": args}
        assert [each.id for each in _found(given, "0.11.1")] == ids
    shown = {"alert_expr": "vllm:gpu_cache_usage_perc", "args": ["--show-hidden-metrics-for-version=0.11"]}
    assert [each.id for each in _found(shown, "0.12.0")] == ["METRIC_REMOVED"]


def test_a_name_that_no_release_has_is_a_warning_with_the_nearest() -> None:
    (only,) = _found({"alert_expr": "vllm:num_request_running > 1"}, "0.26.0")
    assert (only.id, only.severity, only.replacement) == ("METRIC_UNKNOWN", "warning", "vllm:num_requests_running")
    assert _found({"alert_expr": "vllm:load > 1 and other:metric"}, "0.26.0")[0].id == "METRIC_UNKNOWN"


@pytest.mark.parametrize(
    "name",
    [
        "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total",
        "vllm:request_success_total",
        "vllm:time_to_first_token_seconds_bucket",
        "vllm:e2e_request_latency_seconds_sum",
        "vllm:e2e_request_latency_seconds_count",
        "vllm:num_requests_waiting",
        "vllm:cache_config_info",
    ],
)
def test_what_every_release_exports_is_silent(name: str) -> None:
    for version in ("0.8.5", "0.11.2", "0.20.2", "0.33.0"):
        assert _found({"alert_expr": f"rate({name}[5m]) > 0"}, version) == []


def test_each_metric_is_said_once_for_an_expression() -> None:
    text = "vllm:gpu_cache_usage_perc > 0.9 or vllm:gpu_cache_usage_perc < 0.1"
    (only,) = _found({"alert_expr": text}, "0.12.0")
    assert only.expected == "vllm:kv_cache_usage_perc > 0.9 or vllm:kv_cache_usage_perc < 0.1"


def test_all_names_of_an_expression_are_replaced_together() -> None:
    text = "rate(vllm:gpu_prefix_cache_hits_total[5m]) / rate(vllm:gpu_prefix_cache_queries_total[5m])"
    found = _found({"alert_expr": text}, "0.26.0")
    assert len(found) == 2
    assert {each.expected for each in found} == {
        "rate(vllm:prefix_cache_hits_total[5m]) / rate(vllm:prefix_cache_queries_total[5m])"
    }


def test_a_metric_with_two_successors_gets_a_hint_and_no_rewrite() -> None:
    (only,) = _found({"alert_expr": "vllm:gpu_prefix_cache_hit_rate < 0.2"}, "0.12.0")
    assert only.expected is None
    assert "vllm:prefix_cache_hits" in str(only.replacement)
