# SPDX-License-Identifier: Apache-2.0
"""The KV cache in the log of a start and in the metrics of its server, in the words of the releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.capacity import compare_capacity
from ansible_collections.gpuhosts.vllm.plugins.module_utils.metrics.parse import parse_metrics
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log
from tests.unit.metrics.pages import CONFIG, V0

REAL_PAGE = Path(__file__).resolve().parents[4] / "shared" / "corpus" / "metrics" / "06-v0231rc1-v1-spec-decode.txt"

# Up to 0.27 two lines, then one; from 0.30 the device's own name, from 0.31 another prefix.
TWO_LINES = """\
(EngineCore pid=311) INFO 10-06 08:14:20 [kv_cache_utils.py:1711] GPU KV cache size: {tokens} tokens
(EngineCore pid=311) INFO 10-06 08:14:20 [kv_cache_utils.py:1716] \
Maximum concurrency for {length} tokens per request: {x}x
"""
ONE_LINE = """\
({process} pid=77) INFO 11-02 21:40:09 [kv_cache_utils.py:2326] {device} KV cache size: {tokens} tokens, \
Maximum concurrency for {length} tokens per request: {x}x
"""
CPU_PAGE = """\
# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{_block_size_resolved="True",block_size="128",cache_dtype="auto",\
cache_hit_alignment_tokens="None",effective_attention_block_size="128",enable_prefix_caching="True",engine="0",\
gpu_memory_utilization="0.92",is_attention_free="False",kv_cache_dtype_skip_layers="[]",\
kv_cache_max_concurrency="2048.0",kv_cache_memory_bytes="1073741824",kv_cache_size_tokens="1024000",\
mamba_block_size="None",num_cpu_blocks="None",num_gpu_blocks="8192",num_gpu_blocks_override="None",\
prefix_caching_hash_algo="sha256",sliding_window="None",user_specified_block_size="False"} 1.0
"""


def page(tokens: object, factor: object, engines: int = 1, blocks: int = 4000) -> str:
    return "".join(CONFIG.format(engine=n, tokens=tokens, factor=factor, blocks=blocks) for n in range(engines))


def one(tokens: str, length: str, factor: str, device: str = "GPU", process: str = "EngineCore") -> str:
    return ONE_LINE.format(tokens=tokens, length=length, x=factor, device=device, process=process)


def compared(log: str, text: str) -> Finding | None:
    return compare_capacity("chat", parse_startup_log(log.splitlines()), parse_metrics(text))


@pytest.mark.parametrize(
    ("log", "text"),
    [
        (TWO_LINES.format(tokens="63,984", length="32,000", x="2.00"), page(63984, 1.9995)),
        (one("2,097,152", "1,024", "2048.00", device="CPU"), page(2097152, 2048.0, blocks=16384)),
        # 0.32.0 on a CPU, as it printed both: 500 tokens leave the last of four blocks of 128 half empty
        (one("1,024,000", "500", "2048.00", device="CPU"), CPU_PAGE),
        # a hybrid model: 300 blocks of 528 tokens are shared by the groups of its layers
        (one("61,440", "40,960", "1.50"), page(61440, 1.5, blocks=300)),
        # decode context parallelism: a block holds more than its size
        (one("131,072", "32,768", "4.00"), page(131072, 4.0, blocks=4096)),
        # two data-parallel engines that differ; the page has the figures of one and the blocks of both
        (
            one("81,920", "8,192", "10.00", process="EngineCore_DP0")
            + one("80,896", "8,192", "9.88", process="EngineCore_DP1"),
            page(80896, 9.875, engines=2, blocks=10176),
        ),
        (one("10,010", "2,000", "5.00", device="GPU + host"), page(10010, 5.005)),
        # nothing to compare: a release before 0.24, a model without a cache, a log that does not say it, an empty page
        (TWO_LINES.format(tokens="90,000", length="9,000", x="10.00"), V0),
        (one("63,984", "32,000", "2.00"), page("None", "None", blocks=0)),
        ("INFO 11-02 21:40:09 [launcher.py:37] Available routes are:\n", page(63984, 1.9995)),
        (one("63,984", "32,000", "2.00"), ""),
    ],
)
def test_what_agrees_or_cannot_be_compared(log: str, text: str) -> None:
    assert compared(log, text) is None


def test_other_tokens_and_another_concurrency_are_one_finding() -> None:
    finding = compared(one("63,984", "32,000", "2.00"), page(31984, 0.9995, blocks=1999))
    assert finding is not None
    assert (finding.id, finding.severity, finding.subject) == ("kv_cache_disagrees", "warning", "chat")
    assert finding.message == (
        "KV cache: the log of this start says 63,984 tokens, /metrics says 31,984; "
        "the log of this start says 2.00 requests of full length at once, /metrics says 1.00"
    )
    assert finding.expected == {"tokens": [63984], "max_concurrency": [[32000, 2.0]]}
    assert finding.observed == {
        "tokens": 31984,
        "max_concurrency": 0.9995,
        "num_gpu_blocks": 1999,
        "block_size": 16,
        "engines": ["0"],
    }
    assert finding.remedy is not None and "vllm-host startup-log chat" in finding.remedy


@pytest.mark.parametrize(("factor", "agrees"), [(2.005, True), (1.995, True), (2.0051, False), (1.99, False)])
def test_the_log_has_two_digits(factor: float, agrees: bool) -> None:
    assert (compared(one("63,984", "32,000", "2.00"), page(63984, factor)) is None) is agrees


def test_engines_that_both_say_something_else_than_the_page() -> None:
    log = one("81,920", "8,192", "10.00") + one("80,896", "8,192", "9.88")
    finding = compared(log, page(40960, 5.0, engines=2))
    assert finding is not None and "says 81,920, 80,896 tokens, /metrics says 40,960" in finding.message


@pytest.mark.skipif(not REAL_PAGE.is_file(), reason="the corpus is not beside the checkout (../shared/corpus)")
@pytest.mark.parametrize(("tokens", "agrees"), [("400,064", True), ("400,000", False)])
def test_a_real_page(tokens: str, agrees: bool) -> None:
    text = REAL_PAGE.read_text(encoding="utf-8")
    assert (compared(TWO_LINES.format(tokens=tokens, length="400,000", x="1.00"), text) is None) is agrees
