# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which metrics an expression names, and where the expressions of a rule file and a dashboard stand."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.dashboard import is_dashboard, read_dashboard
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.promql import metric_names, replaced
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.rule_file import is_rule_file, read_rule_file


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("vllm:gpu_cache_usage_perc > 0.95", ["vllm:gpu_cache_usage_perc"]),
        ("sum({__name__=~'vllm:(a|b)_total|vllm:c'})", ["vllm:a_total", "vllm:b_total", "vllm:c"]),
        ('{__name__="vllm:a_total", job="vllm:no"}', ["vllm:a_total"]),
        ("rate(vllm:x_total[$__rate_interval]) # vllm:no", ["vllm:x_total"]),
        ("label_values(vllm:cache_config_info, model_name)", ["vllm:cache_config_info"]),
        ("vllm:$name + vllm:[[name]]_total + vllm:request:rate5m + job:vllm:x", []),
        ('up{job="vllm:x"}', []),
    ],
)
def test_only_names_of_series_are_read(expression: str, names: list[str]) -> None:
    assert [found.name for found in metric_names(expression)] == names


def test_a_name_is_replaced_and_the_rest_stays() -> None:
    assert replaced('rate(vllm:a_bucket{x="vllm:a_bucket"}[5m])', {"vllm:a_bucket": "vllm:b_bucket"}) == (
        'rate(vllm:b_bucket{x="vllm:a_bucket"}[5m])'
    )


def test_a_rule_file_tells_group_and_rule() -> None:
    given = {"groups": [{"name": "vllm", "rules": [{"alert": "Full", "expr": "vllm:a > 1"}, {"record": "x:y"}]}]}
    assert is_rule_file(given)
    subject = read_rule_file(given, "rules.yml")
    assert [(item.where, item.text) for item in subject.expressions] == [("group vllm alert Full", "vllm:a > 1")]
    assert [problem.where for problem in subject.problems] == ["group vllm record x:y"]


def test_a_dashboard_tells_panels_in_rows_variables_and_annotations() -> None:
    inner = {"id": 7, "title": "KV", "targets": [{"refId": "A", "expr": "vllm:a"}, {"expr": None}]}
    given = {
        "panels": [{"type": "row", "panels": [inner]}],
        "templating": {"list": [{"name": "m", "type": "query", "query": {"query": "label_values(vllm:b, m)"}}]},
        "annotations": {"list": [{"name": "restart", "expr": "vllm:c"}]},
    }
    assert is_dashboard(given)
    assert [(item.where, item.text) for item in read_dashboard(given, "d.json").expressions] == [
        ("panel 7 KV query A", "vllm:a"),
        ("variable m", "label_values(vllm:b, m)"),
        ("annotation restart", "vllm:c"),
    ]


@pytest.mark.parametrize("given", [None, [], {}, {"groups": 1}, {"panels": 3}, {"groups": [None]}])
def test_other_documents_are_neither(given: object) -> None:
    assert not is_rule_file(given)
    assert not is_dashboard(given)
