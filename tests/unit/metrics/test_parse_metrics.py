# SPDX-License-Identifier: Apache-2.0
"""What /metrics says about a server, in every release's words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.filter.parse_metrics import parse_metrics as filtered
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.exposition import lines_of, samples
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.parse import parse_metrics
from tests.unit.metrics import pages

CORPUS = Path(__file__).resolve().parents[4] / "shared" / "corpus"


def read(text: str) -> dict[str, Any]:
    return parse_metrics(text).to_dict()


def told(text: str) -> dict[str, Any]:
    """What a page tells; names with nothing behind them are left out."""
    return {name: value for name, value in read(text).items() if value not in (None, [], {}) and name != "cache_config"}


def test_a_page_of_the_old_engine() -> None:
    assert told(pages.V0) == {
        "prefix": "vllm:",
        "state": "busy",
        "model_name": "org/old",
        "running": 4,
        "waiting": 7,
        "swapped": 1,
        "preemptions_total": 3,
        "prompt_tokens_total": 12345678,
        "generation_tokens_total": 98765,
        "avg_prompt_throughput_toks_per_s": 812.5,
        "avg_generation_throughput_toks_per_s": 41.25,
        "gpu_cache_usage_perc": 0.9375,
        "cpu_cache_usage_perc": 0.125,
        "kv_cache_usage": 0.9375,
        "prefix_hit_rate": -1.0,
        "cpu_prefix_hit_rate": -1.0,
        "success": {"stop": 611, "abort": 9},
        "requests_stop": 611,
        "requests_abort": 9,
        "ttft_count": 620,
        "ttft_sum": 77.5,
        "spec_acceptance_rate": 0.625,
        "spec_efficiency": 0.5,
        "spec_accepted_tokens": 50,
        "spec_draft_tokens": 80,
        "spec_emitted_tokens": 60,
        "block_size": 32,
        "num_gpu_blocks": 2811,
        "num_cpu_blocks": 512,
        "cache_dtype": "fp8",
    }
    assert read(pages.V0)["engines"] == []
    assert read(pages.V0)["cache_config"]["gpu_memory_utilization"] == "0.85"
    assert isinstance(read(pages.V0)["prompt_tokens_total"], int)


def test_sums_and_maxima_over_engines() -> None:
    assert told(pages.TWO_ENGINES) == {
        "prefix": "vllm:",
        "state": "busy",
        "model_name": "org/new",
        "engines": ["0", "1"],
        "running": 7,
        "waiting": 2,
        "running_by_engine": {"0": 4, "1": 3},
        "waiting_by_engine": {"0": 0, "1": 2},
        "waiting_by_reason": {"capacity": 2, "deferred": 0},
        "engines_by_sleep_state": {"awake": 2, "discard_all": 0},
        "prompt_tokens_by_source": {"local_compute": 512},
        "kv_cache_usage_perc": 0.5,
        "kv_cache_usage": 0.5,
        "kv_cache_usage_by_engine": {"0": 0.125, "1": 0.5},
        "prefix_cache_queries_total": 160,
        "prefix_cache_hits_total": 40,
        "success": {"stop": 19, "length": 1},
        "requests_stop": 19,
        "requests_length": 1,
        "spec_drafts": 700,
        "spec_draft_tokens": 1400,
        "spec_accepted_tokens": 900,
        "spec_accepted_by_position": {"0": 600, "1": 300},
        "e2e_count": 20,
        "e2e_sum": 90.5,
        "block_size": 16,
        "num_gpu_blocks": 6400,
        "cache_dtype": "auto",
        "kv_cache_size_tokens": 51200,
        "kv_cache_max_concurrency": 12.5,
    }


def test_the_time_in_a_lora_row_is_no_count_and_the_newest_row_counts() -> None:
    found = told(pages.LORA)
    assert found["state"] == "idle"
    assert (found["running"], found["waiting"], found["max_lora"]) == (0, 0, 4)
    assert (found["running_lora_adapters"], found["waiting_lora_adapters"]) == (["sql", "chat"], ["law"])


def test_pages_of_ray_serve() -> None:
    found = told(pages.RAY)
    assert (found["prefix"], found["state"], found["model_name"]) == ("ray_vllm:", "busy", "org/ray")
    assert (found["running"], found["gpu_cache_usage_perc"], found["prompt_tokens_total"]) == (2, 2.5e-05, 41)
    found = told(pages.RAY_UNDERSCORE)
    assert (found["prefix"], found["engines"], found["running"]) == ("ray_vllm_", ["0"], 3)
    assert (found["prompt_tokens_total"], found["generation_tokens_total"], found["success"]) == (30, 12, {"stop": 5})


def test_counts_are_whole_numbers_and_shares_are_not() -> None:
    found = read(pages.TWO_ENGINES.replace("} 0.5\n", "} 0.0\n"))
    assert isinstance(found["running_by_engine"]["0"], int) and isinstance(found["success"]["stop"], int)
    assert isinstance(found["kv_cache_usage_by_engine"]["1"], float) and isinstance(found["kv_cache_usage"], float)


def test_families_without_a_value() -> None:
    assert told(pages.NO_SAMPLES) == {"prefix": "vllm:", "state": "no_samples"}


def test_of_engines_with_other_capacity_the_smaller_one_counts() -> None:
    large, small = (pages.CONFIG.format(engine=n, tokens=t, factor=f, blocks=9) for n, t, f in ((0, 96, 3), (1, 64, 2)))
    for page in (large + small, small + large):
        assert (read(page)["kv_cache_size_tokens"], read(page)["kv_cache_max_concurrency"]) == (64, 2.0)


def test_capacity_that_an_engine_without_a_cache_does_not_have() -> None:
    found = read(pages.CONFIG.format(engine=0, tokens="None", factor="None", blocks=0))
    assert found["kv_cache_size_tokens"] is found["kv_cache_max_concurrency"] is found["num_cpu_blocks"] is None
    assert found["num_gpu_blocks"] == 0


@pytest.mark.parametrize(
    ("text", "prefix", "state"),
    [
        ("ray_vllm:num_requests_running 0\n", "ray_vllm:", "idle"),
        ("ray_vllm_num_requests_running 1\n", "ray_vllm_", "busy"),
        ("vllm:num_requests_running 0\nvllm:num_requests_swapped 1\n", "vllm:", "busy"),
        ("# TYPE ray_vllm_x gauge\n", "ray_vllm_", "no_samples"),
        ("#  HELP\tvllm:x y\n", "vllm:", "no_samples"),
        ("# a comment about vllm:x\n", None, None),
        ("process_open_fds 3\n", None, None),
        ("", None, None),
        ("vllm:num_requests_running NaN\nvllm:num_requests_waiting +Inf\n", "vllm:", "idle"),
        ('vllm:num_requests_running{a="b" 1\nvllm:\n\x00\nvllm:x{} y\nvllm:x 1_0\nvllm:x\n', None, None),
    ],
)
def test_prefix_and_state(text: str, prefix: str | None, state: str | None) -> None:
    found = read(text)
    assert (found["prefix"], found["state"]) == (prefix, state)


def test_one_page_tells_about_one_prefix() -> None:
    assert read("vllm:num_requests_running 2\nray_vllm:num_requests_running 2\n")["running"] == 2


def test_a_usage_below_zero_is_not_measured() -> None:
    found = read("vllm:gpu_cache_usage_perc -1\n")
    assert (found["gpu_cache_usage_perc"], found["kv_cache_usage"]) == (-1.0, None)


@pytest.mark.parametrize(
    "page",
    [
        pages.TWO_ENGINES.encode(),
        pages.TWO_ENGINES.replace("\n", "\r\n"),
        pages.TWO_ENGINES.replace("\n", "\n  "),
        pages.TWO_ENGINES.splitlines(),
        pages.TWO_ENGINES.splitlines(keepends=True),
        [line.encode() for line in pages.TWO_ENGINES.splitlines(keepends=True)],
        b"\xff\xfe\n" + pages.TWO_ENGINES.encode() + b"# EOF\n",
        iter(pages.TWO_ENGINES.splitlines()),
    ],
    ids=["bytes", "crlf", "indented", "lines", "lines with ends", "lines of bytes", "broken bytes", "a stream"],
)
def test_a_page_in_other_clothes(page: Any) -> None:
    assert parse_metrics(page) == parse_metrics(pages.TWO_ENGINES)


def test_every_begin_of_a_page_can_be_read() -> None:
    page = pages.V0 + pages.TWO_ENGINES + pages.LORA
    for end in range(0, len(page), 7):
        assert parse_metrics(page[:end]).state in {None, "no_samples", "idle", "busy"}


def test_labels_with_quotes_braces_line_ends_and_timestamps() -> None:
    line = 'vllm:x{a="say \\"hi\\"",b="{,}\\\\ \\n \u2028", c = "d",} 1 1700000000000'
    (found,) = samples([line], ("vllm:",))
    assert found.labels == {"a": 'say "hi"', "b": "{,}\\ \n \u2028", "c": "d"}
    assert found.value == 1
    assert read(f"{line}\n{line}".replace("vllm:x", "vllm:num_requests_running"))["running"] == 2


def test_an_exemplar_behind_a_value_is_passed_over() -> None:
    line = 'vllm:e2e_request_latency_seconds_count{engine="0"} 7 # {trace_id="a}b"} 0.25 1791200000.5'
    (found,) = samples([line], ("vllm:",))
    assert (found.name, found.value, found.labels) == ("vllm:e2e_request_latency_seconds_count", 7, {"engine": "0"})


def test_a_line_without_end_is_left_out() -> None:
    assert read('vllm:x{a="' + "y" * 200000 + '"} 1\nvllm:num_requests_running 1\n')["running"] == 1


def test_a_page_of_nonsense_does_not_grow_the_report() -> None:
    page = "".join(
        f'vllm:request_success_total{{engine="{n}",finished_reason="{n}"}} 1\n'
        f'vllm:num_requests_running{{engine="{n}"}} 1\n'
        for n in range(3000)
    )
    found = read(page)
    assert len(found["engines"]) == len(found["success"]) == len(found["running_by_engine"]) == 1024
    assert found["running"] == 3000


def test_lines_are_given_one_at_a_time() -> None:
    assert list(lines_of("a\n\n b\r\nc")) == ["a", "", "b", "c"]


def test_the_filter_gives_plain_data() -> None:
    assert filtered(pages.TWO_ENGINES) == read(pages.TWO_ENGINES)
    assert json.loads(json.dumps(filtered(pages.V0)))["running"] == 4
    assert filtered(pages.V0.splitlines())["state"] == "busy"


@pytest.mark.parametrize("value", [None, 3, {"a": 1}, ["a", 1], b"vllm:x 1"])
def test_the_filter_names_what_it_cannot_read(value: Any) -> None:
    with pytest.raises(Exception, match="parse_metrics: expected the text of /metrics"):
        filtered(value)


def _corpus() -> list[dict[str, Any]]:
    index = CORPUS / "index.json"
    entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else []
    return [entry for entry in entries if entry["kind"] == "metrics"]


@pytest.mark.skipif(not _corpus(), reason="the corpus is not beside the checkout (../shared/corpus)")
@pytest.mark.parametrize("entry", _corpus(), ids=lambda entry: str(entry["file"]))
def test_real_metrics(entry: dict[str, Any]) -> None:
    found = parse_metrics((CORPUS / entry["file"]).read_bytes()).to_dict()
    assert {name: found.get(name, "not told") for name in entry["expected"]} == entry["expected"]
    assert f"metrics_{found['state']}" == entry["diagnosis"]
