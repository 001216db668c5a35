# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Which families of /metrics are read, and under what name; the names of all releases from 0.5 to 0.33.

Names are those of the page without their prefix. What an older release calls otherwise has both names here, and a
report tells each under its own. Private to the collection.
"""

from __future__ import annotations

from collections.abc import Mapping

# Ray Serve puts its own word in front; newer Ray also turns the colon into an underscore.
PREFIXES = ("vllm:", "ray_vllm:", "ray_vllm_")

# Counts and rates that add up over engines.
SUMS: Mapping[str, str] = {
    "num_requests_running": "running",
    "num_requests_waiting": "waiting",
    "num_requests_swapped": "swapped",
    "num_preemptions_total": "preemptions_total",
    "prompt_tokens_total": "prompt_tokens_total",
    "prompt_tokens_cached_total": "prompt_tokens_cached_total",
    "generation_tokens_total": "generation_tokens_total",
    "avg_prompt_throughput_toks_per_s": "avg_prompt_throughput_toks_per_s",
    "avg_generation_throughput_toks_per_s": "avg_generation_throughput_toks_per_s",
    "prefix_cache_queries_total": "prefix_cache_queries_total",
    "prefix_cache_hits_total": "prefix_cache_hits_total",
    "gpu_prefix_cache_queries_total": "gpu_prefix_cache_queries_total",
    "gpu_prefix_cache_hits_total": "gpu_prefix_cache_hits_total",
    "external_prefix_cache_queries_total": "external_prefix_cache_queries_total",
    "external_prefix_cache_hits_total": "external_prefix_cache_hits_total",
    "mm_cache_queries_total": "mm_cache_queries_total",
    "mm_cache_hits_total": "mm_cache_hits_total",
    "corrupted_requests_total": "corrupted_requests_total",
    "admission_rejections_total": "admission_rejections_total",
    "spec_decode_num_drafts_total": "spec_drafts",
    "spec_decode_num_draft_tokens_total": "spec_draft_tokens",
    "spec_decode_num_accepted_tokens_total": "spec_accepted_tokens",
    "spec_decode_num_emitted_tokens_total": "spec_emitted_tokens",
    "time_to_first_token_seconds_count": "ttft_count",
    "time_to_first_token_seconds_sum": "ttft_sum",
    "time_per_output_token_seconds_count": "tpot_count",
    "time_per_output_token_seconds_sum": "tpot_sum",
    "inter_token_latency_seconds_count": "itl_count",
    "inter_token_latency_seconds_sum": "itl_sum",
    "e2e_request_latency_seconds_count": "e2e_count",
    "e2e_request_latency_seconds_sum": "e2e_sum",
}

# Shares that do not add up: the largest of the engines. A hit rate of -1 is one that was not measured.
SHARES: Mapping[str, str] = {
    "kv_cache_usage_perc": "kv_cache_usage_perc",
    "gpu_cache_usage_perc": "gpu_cache_usage_perc",
    "cpu_cache_usage_perc": "cpu_cache_usage_perc",
    "gpu_prefix_cache_hit_rate": "prefix_hit_rate",
    "cpu_prefix_cache_hit_rate": "cpu_prefix_hit_rate",
    "spec_decode_draft_acceptance_rate": "spec_acceptance_rate",
    "spec_decode_efficiency": "spec_efficiency",
}

# Families that are told by the values of one of their labels, summed over engines.
MAPS: Mapping[str, tuple[str, str]] = {
    "request_success_total": ("finished_reason", "success"),
    "spec_decode_num_accepted_tokens_per_pos_total": ("position", "spec_accepted_by_position"),
    "num_requests_waiting_by_reason": ("reason", "waiting_by_reason"),
    "prompt_tokens_by_source_total": ("source", "prompt_tokens_by_source"),
    "engine_sleep_state": ("sleep_state", "engines_by_sleep_state"),
}

# What is told for each engine, too.
BY_ENGINE: Mapping[str, str] = {
    "num_requests_running": "running_by_engine",
    "num_requests_waiting": "waiting_by_engine",
    "kv_cache_usage_perc": "kv_cache_usage_by_engine",
    "gpu_cache_usage_perc": "kv_cache_usage_by_engine",
}

CONFIG = "cache_config_info"
LORA = "lora_requests_info"

# Ray's pages can have a counter without the ending that Prometheus gives it, and with it at the same time.
BARE: Mapping[str, str] = {name[: -len("_total")]: name for name in (*SUMS, *MAPS) if name.endswith("_total")}
