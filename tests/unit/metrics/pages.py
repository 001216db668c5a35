# SPDX-License-Identifier: Apache-2.0
"""Pages of /metrics in the shapes of the releases from 0.5 to 0.33, with values of our own."""

from __future__ import annotations

PYTHON = """\
# HELP python_info Python platform information
# TYPE python_info gauge
python_info{implementation="CPython",major="3",minor="12",patchlevel="9",version="3.12.9"} 1.0
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79123456789e+09
"""

# 0.5 and 0.6: no label "engine", requests can be swapped, throughput is a gauge, all capacity is in blocks.
V0 = """\
# HELP vllm:cache_config_info information of cache_config
# TYPE vllm:cache_config_info gauge
vllm:cache_config_info{block_size="32",cache_dtype="fp8",enable_prefix_caching="False",gpu_memory_utilization="0.85",\
num_cpu_blocks="512",num_gpu_blocks="2811",num_gpu_blocks_override="None",sliding_window="None"} 1.0
# HELP vllm:num_requests_running Number of requests currently running on GPU.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{model_name="org/old"} 4.0
vllm:num_requests_swapped{model_name="org/old"} 1.0
vllm:num_requests_waiting{model_name="org/old"} 7.0
vllm:gpu_cache_usage_perc{model_name="org/old"} 0.9375
vllm:cpu_cache_usage_perc{model_name="org/old"} 0.125
vllm:gpu_prefix_cache_hit_rate{model_name="org/old"} -1.0
vllm:cpu_prefix_cache_hit_rate{model_name="org/old"} -1.0
vllm:num_preemptions_total{model_name="org/old"} 3.0
vllm:prompt_tokens_total{model_name="org/old"} 1.2345678e+07
vllm:generation_tokens_total{model_name="org/old"} 98765.0
vllm:avg_prompt_throughput_toks_per_s{model_name="org/old"} 812.5
vllm:avg_generation_throughput_toks_per_s{model_name="org/old"} 41.25
vllm:request_success_total{finished_reason="stop",model_name="org/old"} 611.0
vllm:request_success_total{finished_reason="abort",model_name="org/old"} 9.0
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_sum{model_name="org/old"} 77.5
vllm:time_to_first_token_seconds_bucket{le="0.5",model_name="org/old"} 600.0
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="org/old"} 620.0
vllm:time_to_first_token_seconds_count{model_name="org/old"} 620.0
# TYPE vllm:iteration_tokens_total histogram
vllm:iteration_tokens_total_sum{model_name="org/old"} 4000.0
vllm:iteration_tokens_total_count{model_name="org/old"} 31.0
vllm:spec_decode_draft_acceptance_rate{model_name="org/old"} 0.625
vllm:spec_decode_efficiency{model_name="org/old"} 0.5
vllm:spec_decode_num_accepted_tokens_total{model_name="org/old"} 50.0
vllm:spec_decode_num_draft_tokens_total{model_name="org/old"} 80.0
vllm:spec_decode_num_emitted_tokens_total{model_name="org/old"} 60.0
"""

# The value is the time at which the row was true; rows of the past stay.
LORA = """\
# TYPE vllm:lora_requests_info gauge
vllm:lora_requests_info{max_lora="4",running_lora_adapters="sql",waiting_lora_adapters=""} 1.7912000001e+09
vllm:lora_requests_info{max_lora="4",running_lora_adapters="sql,chat",waiting_lora_adapters="law"} 1.7912000009e+09
vllm:lora_requests_info{max_lora="4",running_lora_adapters="",waiting_lora_adapters=""} 1.7912000003e+09
vllm:num_requests_running{model_name="org/base"} 0.0
vllm:num_requests_waiting{model_name="org/base"} 0.0
"""

# Ray Serve before and after it stopped to allow colons; newer ones have a counter twice.
RAY = """\
# TYPE ray_vllm:num_requests_running gauge
ray_vllm:num_requests_running{Component="core_worker",NodeAddress="198.51.100.7",Version="2.40.0",\
WorkerId="00ab",model_name="org/ray"} 2.0
ray_vllm:num_requests_waiting{NodeAddress="198.51.100.7",WorkerId="00ab",model_name="org/ray"} 0.0
ray_vllm:gpu_cache_usage_perc{NodeAddress="198.51.100.7",WorkerId="00ab",model_name="org/ray"} 2.5e-05
ray_vllm:prompt_tokens_total{NodeAddress="198.51.100.7",WorkerId="00ab",model_name="org/ray"} 41.0
"""
RAY_UNDERSCORE = """\
# TYPE ray_vllm_num_requests_running gauge
ray_vllm_num_requests_running{ReplicaId="r1",WorkerId="00ab",engine="0",model_name="org/ray"} 1.0
ray_vllm_num_requests_running{ReplicaId="r2",WorkerId="00cd",engine="0",model_name="org/ray"} 2.0
ray_vllm_prompt_tokens{ReplicaId="r1",engine="0",model_name="org/ray"} 30.0
ray_vllm_prompt_tokens_total{ReplicaId="r1",engine="0",model_name="org/ray"} 30.0
ray_vllm_generation_tokens{ReplicaId="r1",engine="0",model_name="org/ray"} 12.0
ray_vllm_request_success{ReplicaId="r1",engine="0",finished_reason="stop",model_name="org/ray"} 5.0
"""

# 0.24 and newer: capacity labels; of two data-parallel engines the page adds up the blocks, but not the tokens.
CONFIG = (
    'vllm:cache_config_info{{block_size="16",cache_dtype="auto",enable_prefix_caching="True",engine="{engine}",'
    'kv_cache_max_concurrency="{factor}",kv_cache_size_tokens="{tokens}",num_cpu_blocks="None",'
    'num_gpu_blocks="{blocks}"}} 1.0\n'
)
TWO_ENGINES = PYTHON + (
    "# TYPE vllm:num_requests_running gauge\n"
    'vllm:num_requests_running{engine="0",model_name="org/new"} 4.0\n'
    'vllm:num_requests_running{engine="1",model_name="org/new"} 3.0\n'
    'vllm:num_requests_waiting{engine="0",model_name="org/new"} 0.0\n'
    'vllm:num_requests_waiting{engine="1",model_name="org/new"} 2e0\n'
    'vllm:num_requests_waiting_by_reason{engine="0",model_name="org/new",reason="capacity"} 0.0\n'
    'vllm:num_requests_waiting_by_reason{engine="1",model_name="org/new",reason="capacity"} 2.0\n'
    'vllm:num_requests_waiting_by_reason{engine="1",model_name="org/new",reason="deferred"} 0.0\n'
    'vllm:engine_sleep_state{engine="0",model_name="org/new",sleep_state="awake"} 1.0\n'
    'vllm:engine_sleep_state{engine="0",model_name="org/new",sleep_state="discard_all"} 0.0\n'
    'vllm:engine_sleep_state{engine="1",model_name="org/new",sleep_state="awake"} 1.0\n'
    'vllm:prompt_tokens_by_source_total{engine="0",model_name="org/new",source="local_compute"} 512.0\n'
    'vllm:kv_cache_usage_perc{engine="0",model_name="org/new"} 0.125\n'
    'vllm:kv_cache_usage_perc{engine="1",model_name="org/new"} 0.5\n'
    'vllm:prefix_cache_queries_total{engine="0",model_name="org/new"} 100.0\n'
    'vllm:prefix_cache_queries_total{engine="1",model_name="org/new"} 60.0\n'
    'vllm:prefix_cache_queries_created{engine="0",model_name="org/new"} 1.7912e+09\n'
    'vllm:prefix_cache_hits_total{engine="0",model_name="org/new"} 40.0\n'
    'vllm:request_success_total{engine="0",finished_reason="stop",model_name="org/new"} 11.0\n'
    'vllm:request_success_total{engine="1",finished_reason="stop",model_name="org/new"} 8.0\n'
    'vllm:request_success_total{engine="1",finished_reason="length",model_name="org/new"} 1.0\n'
    'vllm:request_success_created{engine="1",finished_reason="length",model_name="org/new"} 1.7912e+09\n'
    'vllm:spec_decode_num_drafts_total{engine="0",model_name="org/new"} 700.0\n'
    'vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="org/new"} 1400.0\n'
    'vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="org/new"} 900.0\n'
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="org/new",position="0"} 600.0\n'
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="org/new",position="1"} 300.0\n'
    'vllm:spec_decode_num_accepted_tokens_per_pos_created{engine="0",model_name="org/new",position="1"} 1.79e+09\n'
    'vllm:e2e_request_latency_seconds_count{engine="0",model_name="org/new"} 20.0\n'
    'vllm:e2e_request_latency_seconds_sum{engine="0",model_name="org/new"} 90.5\n'
    + CONFIG.format(engine=0, tokens=51200, factor=12.5, blocks=6400)
    + CONFIG.format(engine=1, tokens=51200, factor=12.5, blocks=6400)
)

# Families are declared, and no engine has told anything yet.
NO_SAMPLES = (
    PYTHON
    + """\
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
"""
)
