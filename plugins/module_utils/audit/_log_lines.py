# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One line of each fact of a start, in the shape that each release prints it: who prints, from, to, the line.

``A`` is the API server, ``E`` the engine, ``W`` a worker, ``U`` uvicorn, which has its own header,
``X`` the engine with an error.

Private to the collection.
"""

from __future__ import annotations

LINES = """
engine_version|E|0.8.0||Initializing a V1 LLM engine (v{version}) with config: model='Qwen/Qwen3-0.6B'
api_server_version|A|0.7.3|0.25.0|vLLM API server version {version}
non_default_args|A|0.9.0||non-default args: {{'model': 'Qwen/Qwen3-0.6B'}}
resolved_architecture|A|0.10.1||Resolved architecture: Qwen3ForCausalLM
max_model_len|A|0.9.2||Using max model len 8192
load_start|W|0.7.3||Starting to load model Qwen/Qwen3-0.6B...
weights_download|W|0.7.3||Time spent downloading weights for Qwen/Qwen3-0.6B: 12.345678 seconds
weights_loaded|W|0.8.0||Loading weights took 1.23 seconds
model_loaded|W|0.8.0|0.8.3|Model loading took 1.1234 GB and 2.123456 seconds
model_loaded|W|0.8.3|0.11.1|Model loading took 1.1234 GiB and 2.123456 seconds
model_loaded|W|0.11.1|0.14.0|Model loading took 1.1234 GiB memory and 2.123456 seconds
model_loaded|W|0.14.0||Model loading took 1.12 GiB memory and 2.123456 seconds
dynamo_time|W|0.7.3||Dynamo bytecode transform time: 4.56 s
compile_total|W|0.7.3|0.18.0|torch.compile takes 12.34 s in total
compile_total|W|0.18.0||torch.compile took 12.34 s in total
compile_range|W|0.13.0|0.32.0|Compiling a graph for compile range (1, 2048) takes 5.67 s
cudagraph_profile|W|0.18.0||Estimated CUDA graph memory: 0.45 GiB total
available_kv_memory|W|0.9.1||Available KV cache memory: 12.34 GiB
kv_cache_tokens|E|0.8.0|0.28.0|GPU KV cache size: 163,168 tokens
kv_cache_tokens|E|0.28.0|0.30.0|GPU KV cache size: 1,168 tokens, Maximum concurrency for 8,192 tokens per request: 19.9x
kv_cache_tokens|E|0.30.0||{device} KV cache size: 1,168 tokens, Maximum concurrency for 8,192 tokens per request: 19.9x
max_concurrency|E|0.7.3|0.28.0|Maximum concurrency for 8,192 tokens per request: 19.92x
max_concurrency|E|0.28.0|0.30.0|GPU KV cache size: 1,168 tokens, Maximum concurrency for 8,192 tokens per request: 19.9x
max_concurrency|E|0.30.0||{device} KV cache size: 1,168 tokens, Maximum concurrency for 8,192 tokens per request: 19.9x
autofit_len|E|0.14.0|0.32.0|Auto-fit max_model_len: reduced from 8192 to 4096 to fit in available GPU memory
autofit_len|E|0.32.0||Auto-fit max_model_len: reduced from 8192 to 4096 to fit in available KV cache memory
graph_capture|W|0.7.3||Graph capturing finished in 12 secs, took 0.45 GiB
init_engine|E|0.7.3|0.20.0|init engine (profile, create kv cache, warmup model) took 23.45 seconds
init_engine|E|0.20.0||init engine (profile, create kv cache, warmup model) took 23.45 s (compilation: 9.87 s)
server_starting|A|0.8.0|0.9.1|Starting vLLM API server on http://0.0.0.0:8000
server_starting|A|0.9.1|0.18.0|Starting vLLM API server 0 on http://0.0.0.0:8000
server_starting|A|0.18.0||Starting vLLM server on http://0.0.0.0:8000
kv_too_small|X|0.7.3|0.8.3|ValueError: To serve at least one request with the models's \
max seq len (8192), (1.0 GB KV cache is needed, which is larger than the available KV cache memory (0.50 GB)
kv_too_small|X|0.8.3|0.22.0|ValueError: To serve at least one request with the models's \
max seq len (8192), (1.00 GiB KV cache is needed, which is larger than the available KV cache memory (0.50 GiB)
kv_too_small|X|0.22.0||ValueError: To serve at least one request with the model's \
max seq len (8192), (1.00 GiB KV cache is needed, which is larger than the available KV cache memory (0.50 GiB)
uvicorn_started|U|0.7.3||INFO:     Started server process [1]
uvicorn_ready|U|0.7.3||INFO:     Application startup complete.
"""
