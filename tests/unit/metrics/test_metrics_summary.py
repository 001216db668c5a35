# SPDX-License-Identifier: Apache-2.0
"""What /metrics says about a server's state."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.exposition import samples
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.summary import summarize_metrics

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"

TWO_ENGINES = """\
# HELP python_info Python platform information
python_info{implementation="CPython"} 1.0
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="org/a"} 4.0
vllm:num_requests_running{engine="1",model_name="org/a"} 3.0
vllm:num_requests_waiting{engine="0",model_name="org/a"} 0.0
vllm:num_requests_waiting{engine="1",model_name="org/a"} 2e0
vllm:kv_cache_usage_perc{engine="0",model_name="org/a"} 0.125
vllm:kv_cache_usage_perc{engine="1",model_name="org/a"} 0.5
vllm:cache_config_info{block_size="16",engine="0",kv_cache_max_concurrency="12.5",kv_cache_size_tokens="51200"} 1.0
"""


def read(text: str) -> dict[str, object]:
    return summarize_metrics(text.splitlines(keepends=True)).to_dict()


def test_sums_and_maxima_over_engines() -> None:
    found = read(TWO_ENGINES)
    assert found == {
        "prefix": "vllm:",
        "state": "busy",
        "model_name": "org/a",
        "engines": ["0", "1"],
        "running": 7,
        "waiting": 2,
        "kv_cache_usage": 0.5,
        "kv_cache_size_tokens": 51200,
        "kv_cache_max_concurrency": 12.5,
    }


@pytest.mark.parametrize(
    ("text", "prefix", "state"),
    [
        ("ray_vllm:num_requests_running 0\n", "ray_vllm:", "idle"),
        ("ray_vllm_num_requests_running 1\n", "ray_vllm_", "busy"),
        ("# TYPE vllm:num_requests_running gauge\n# HELP vllm:x y\n", "vllm:", "no_samples"),
        ("process_open_fds 3\n", None, None),
        ("", None, None),
        ("vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\n", "vllm:", "idle"),
        ('vllm:num_requests_running{a="b" 1\nvllm:\n\x00\nvllm:x{} y\n', None, None),
    ],
)
def test_prefix_and_state(text: str, prefix: str | None, state: str | None) -> None:
    found = read(text)
    assert (found["prefix"], found["state"]) == (prefix, state)


def test_the_old_name_of_the_cache_usage() -> None:
    assert read("vllm:gpu_cache_usage_perc 0.75\n")["kv_cache_usage"] == 0.75


def test_labels_with_quotes_braces_and_timestamps() -> None:
    line = 'vllm:x{a="say \\"hi\\"",b="{,}\\\\ \\n"} 1 1700000000000'
    (found,) = samples([line], ("vllm:",))
    assert found.labels == {"a": 'say "hi"', "b": "{,}\\ \n"}
    assert found.value == 1


def test_a_line_without_end_is_left_out() -> None:
    assert read('vllm:x{a="' + "y" * 200000 + '"} 1\nvllm:num_requests_running 1\n')["running"] == 1


def _corpus() -> list[dict[str, object]]:
    index = CORPUS / "index.json"
    entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
    return [entry for entry in entries if entry["kind"] == "metrics"]


@pytest.mark.skipif(not _corpus(), reason="the corpus is not beside the checkout (../shared/corpus)")
@pytest.mark.parametrize("entry", _corpus(), ids=lambda entry: str(entry["file"]))
def test_real_metrics(entry: dict[str, object]) -> None:
    found = read((CORPUS / str(entry["file"])).read_text(encoding="utf-8"))
    expected = entry["expected"]
    assert isinstance(expected, dict)
    for name in ("prefix", "state", "model_name", "running", "waiting", "engines", "kv_cache_size_tokens"):
        if name in expected:
            assert found[name] == expected[name], name
