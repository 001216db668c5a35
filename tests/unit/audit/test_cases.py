# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What one subject gets for one release, exactly: each case fires, or is the near miss beside it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config

OF_TABLES = {
    "DEFAULT_CHANGED",
    "DEV_ENDPOINTS_EXPOSED",
    "DRIVER_TOO_OLD",
    "ENDPOINT_UNGUARDED",
    "ENTRYPOINT_MISMATCH",
    "ENV_DEFAULT_CHANGED",
    "ENV_REMOVED",
    "FLAG_DEPRECATED",
    "FLAG_NOT_YET",
    "FLAG_REMOVED",
    "GPU_UNSUPPORTED",
    "LOG_PATTERN_BREAKS_LATER",
    "METRIC_HIDDEN",
    "METRIC_NOT_YET",
    "METRIC_REMOVED",
    "SHM_TOO_SMALL",
    "STOP_TIMEOUT_TOO_SHORT",
    "TAG_NOT_PUBLISHED",
    "VALUE_REMOVED",
}
PREFIX_HITS = "rate(vllm:gpu_prefix_cache_hits_total[5m]) / rate(vllm:gpu_prefix_cache_queries_total[5m])"
OPEN_BIND = {"args": ["--api-key", "k"], "host_bind": "0.0.0.0"}
Expected = tuple[tuple[str, ...], ...]


def _image(tag: str, **more: Any) -> dict[str, Any]:
    return {"image": f"vllm/vllm-openai:{tag}", **more}


def _drain(stop: object, seconds: str = "60") -> dict[str, Any]:
    return {"args": ["--shutdown-timeout", seconds], "unit": {"TimeoutStopSec": stop}}


# version, subject, then (code, part of the subject, severity, since or "")
CASES: tuple[tuple[str, dict[str, Any], Expected], ...] = (
    ("0.10.0", {"args": ["--disable-log-requests"]}, ()),
    (
        "0.16.0",
        {"args": ["--disable-log-requests"]},
        (("FLAG_DEPRECATED", "--disable-log-requests", "warning", "0.10.1"),),
    ),
    ("0.17.0", {"args": ["--disable-log-requests"]}, (("FLAG_REMOVED", "--disable-log-requests", "error", "0.17.0"),)),
    ("0.26.0", {"args": ["--no-enable-log-requests"]}, ()),
    ("0.7.3", {"args": ["--speculative-model", "x", "--num-speculative-tokens", "5"]}, ()),
    (
        "0.8.3",
        {"args": ["--speculative-model", "x", "--num-speculative-tokens", "5"]},
        (
            ("FLAG_REMOVED", "--speculative-model", "error", "0.8.3"),
            ("FLAG_REMOVED", "--num-speculative-tokens", "error", "0.8.3"),
        ),
    ),
    ("0.10.2", {"args": ["--guided-decoding-backend", "xgrammar"]}, ()),
    (
        "0.11.0",
        {"args": ["--guided-decoding-backend", "xgrammar"]},
        (("FLAG_REMOVED", "--guided-decoding-backend", "error", "0.11.0"),),
    ),
    ("0.10.0", {"args": ["--num-scheduler-steps", "8"]}, ()),
    (
        "0.10.1",
        {"args": ["--num-scheduler-steps", "8"]},
        (("FLAG_REMOVED", "--num-scheduler-steps", "error", "0.10.1"),),
    ),
    ("0.11.0", {"env": {"VLLM_USE_V1": "0"}}, ()),
    ("0.11.1", {"env": {"VLLM_USE_V1": "1"}}, (("ENV_REMOVED", "VLLM_USE_V1", "warning", "0.11.1"),)),
    ("0.18.1", {"args": ["--disable-frontend-multiprocessing"]}, ()),
    (
        "0.19.0",
        {"args": ["--disable-frontend-multiprocessing"]},
        (("FLAG_REMOVED", "--disable-frontend-multiprocessing", "error", "0.19.0"),),
    ),
    (
        "0.11.2",
        {"args": ["--override-pooler-config", "{}"]},
        (("FLAG_DEPRECATED", "--override-pooler-config", "warning", "0.11.0"),),
    ),
    (
        "0.12.0",
        {"args": ["--override-pooler-config", "{}"]},
        (("FLAG_REMOVED", "--override-pooler-config", "error", "0.12.0"),),
    ),
    ("0.27.1", {"args": ["--calculate-kv-scales"]}, (("FLAG_DEPRECATED", "--calculate-kv-scales", "warning", ""),)),
    ("0.28.0", {"args": ["--calculate-kv-scales"]}, (("FLAG_REMOVED", "--calculate-kv-scales", "error", "0.28.0"),)),
    ("0.31.0", {"args": ["--disable-cascade-attn"]}, ()),
    (
        "0.32.0",
        {"args": ["--disable-cascade-attn"]},
        (("FLAG_DEPRECATED", "--disable-cascade-attn", "warning", "0.32.0"),),
    ),
    ("0.32.0", {"args": ["--mamba-cache-mode", "align"]}, ()),
    (
        "0.33.0",
        {"args": ["--mamba-cache-mode", "align"]},
        (("FLAG_DEPRECATED", "--mamba-cache-mode", "warning", "0.33.0"),),
    ),
    (
        "0.32.0",
        {"args": ["--mamba-cache-mode", "all"]},
        (("VALUE_REMOVED", "--mamba-cache-mode", "error", "0.32.0"),),
    ),
    ("0.17.0", {"args": ["--use-gpu-for-pooling-score"]}, ()),
    (
        "0.18.0",
        {"args": ["--use-gpu-for-pooling-score"]},
        (("FLAG_REMOVED", "--use-gpu-for-pooling-score", "error", "0.18.0"),),
    ),
    ("0.21.0", {"args": ["--spec-method", "eagle"]}, (("FLAG_NOT_YET", "--spec-method", "error", "0.22.0"),)),
    ("0.22.0", {"args": ["--spec-method", "eagle"]}, ()),
    ("0.26.0", {"args": ["--model", "a/b"]}, (("FLAG_DEPRECATED", "--model", "warning", "0.11.1"),)),
    ("0.11.0", {"args": ["--model", "a/b"]}, ()),
    # Values, wherever they are written.
    ("0.16.0", {"args": ["--convert", "reward"]}, (("VALUE_REMOVED", "--convert", "error", "0.16.0"),)),
    ("0.31.0", {"args": ["--tokenizer-mode", "slow"]}, (("VALUE_REMOVED", "--tokenizer-mode", "error", "0.31.0"),)),
    ("0.24.0", {"args": ["--load-format", "safetensors"]}, ()),
    ("0.25.0", {"args": ["--load-format", "gguf"]}, (("VALUE_REMOVED", "--load-format", "error", "0.25.0"),)),
    (
        "0.33.0",
        {"args": ["--speculative-config", '{"method": "medusa", "model": "x"}']},
        (("VALUE_REMOVED", "--speculative-config.method", "error", "0.33.0"),),
    ),
    (
        "0.33.0",
        {"args": ["--speculative-config.method=medusa"]},
        (("VALUE_REMOVED", "--speculative-config.method", "error", "0.33.0"),),
    ),
    ("0.32.0", {"args": ["--speculative-config", '{"method": "medusa", "model": "x"}']}, ()),
    (
        "0.10.2",
        {"args": ["--prefix-caching-hash-algo", "builtin"]},
        (("VALUE_REMOVED", "--prefix-caching-hash-algo", "error", "0.10.2"),),
    ),
    (
        "0.21.0",
        {"args": ["--attention-backend", "TREE_ATTN"]},
        (("VALUE_REMOVED", "--attention-backend", "error", "0.21.0"),),
    ),
    ("0.26.0", {"args": ["--attention-backend", "flash_attn"]}, ()),
    ("0.11.2", {"env": {"VLLM_ATTENTION_BACKEND": "XFORMERS"}}, ()),
    (
        "0.14.0",
        {"env": {"VLLM_ATTENTION_BACKEND": "XFORMERS"}},
        (("VALUE_REMOVED", "VLLM_ATTENTION_BACKEND", "error", "0.12.0"),),
    ),
    ("0.14.1", {"env": {"VLLM_ATTENTION_BACKEND": "FLASHINFER"}}, ()),
    # Variables.
    ("0.22.1", {"env": {"VLLM_RPC_TIMEOUT": "10000"}}, ()),
    ("0.23.0", {"env": {"VLLM_RPC_TIMEOUT": "10000"}}, (("ENV_REMOVED", "VLLM_RPC_TIMEOUT", "warning", "0.23.0"),)),
    (
        "0.32.0",
        {"env": {"VLLM_ENGINE_ITERATION_TIMEOUT_S": "60"}},
        (("ENV_REMOVED", "VLLM_ENGINE_ITERATION_TIMEOUT_S", "warning", "0.32.0"),),
    ),
    (
        "0.33.0",
        {"env": {"VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE": "nccl"}},
        (("ENV_REMOVED", "VLLM_USE_RAY_COMPILED_DAG_CHANNEL_TYPE", "warning", "0.33.0"),),
    ),
    (
        "0.26.0",
        {"args": ["--fail-on-environ-validation"], "env": {"VLLM_RPC_TIMEOUT": "10000"}},
        (("ENV_REMOVED", "VLLM_RPC_TIMEOUT", "error", "0.23.0"),),
    ),
    ("0.26.0", {"env": {"HF_HOME": "/hf", "PATH": "/bin", "CUDA_VISIBLE_DEVICES": "0", "NCCL_DEBUG": "INFO"}}, ()),
    # Metrics.
    ("0.10.2", {"alert_expr": PREFIX_HITS}, ()),
    (
        "0.11.0",
        {"alert_expr": PREFIX_HITS},
        (
            ("METRIC_HIDDEN", "vllm:gpu_prefix_cache_hits_total", "error", "0.11.0"),
            ("METRIC_HIDDEN", "vllm:gpu_prefix_cache_queries_total", "error", "0.11.0"),
        ),
    ),
    (
        "0.26.0",
        {"alert_expr": PREFIX_HITS},
        (
            ("METRIC_REMOVED", "vllm:gpu_prefix_cache_hits_total", "error", "0.12.0"),
            ("METRIC_REMOVED", "vllm:gpu_prefix_cache_queries_total", "error", "0.12.0"),
        ),
    ),
    (
        "0.10.2",
        {"alert_expr": "vllm:num_requests_swapped > 0"},
        (("METRIC_REMOVED", "vllm:num_requests_swapped", "error", "0.9.1"),),
    ),
    (
        "0.26.0",
        {"alert_expr": "vllm:time_in_queue_requests_sum"},
        (("METRIC_REMOVED", "vllm:time_in_queue_requests", "error", "0.9.1"),),
    ),
    (
        "0.10.2",
        {"alert_expr": "vllm:request_time_per_output_token_seconds_sum"},
        (("METRIC_NOT_YET", "vllm:request_time_per_output_token_seconds", "error", "0.11.0"),),
    ),
    ("0.26.0", {"alert_expr": 'up{job="vllm:gpu_cache_usage_perc"} == 0'}, ()),
    (
        "0.11.2",
        {"alert_expr": "vllm:gpu_cache_usage_perc > 0.9", "args": ["--show-hidden-metrics-for-version", "0.10"]},
        (),
    ),
    (
        "0.11.2",
        {"alert_expr": "vllm:gpu_cache_usage_perc > 0.9", "args": ["--show-hidden-metrics-for-version", "0.11"]},
        (("METRIC_HIDDEN", "vllm:gpu_cache_usage_perc", "error", "0.11.1"),),
    ),
    # Stopping.
    ("0.17.1", _drain(30), (("FLAG_NOT_YET", "--shutdown-timeout", "error", "0.18.0"),)),
    ("0.18.0", _drain(30), (("STOP_TIMEOUT_TOO_SHORT", "TimeoutStopSec", "warning", ""),)),
    ("0.18.0", _drain(60), (("STOP_TIMEOUT_TOO_SHORT", "TimeoutStopSec", "warning", ""),)),
    ("0.26.0", _drain("2min"), ()),
    ("0.26.0", _drain("infinity"), ()),
    ("0.26.0", _drain(5, "0"), ()),
    (
        "0.26.0",
        {"args": ["--shutdown-timeout", "120"], "unit": {"Type": "exec"}},
        (("STOP_TIMEOUT_TOO_SHORT", "TimeoutStopSec", "warning", ""),),
    ),
    ("0.26.0", {"args": ["--shutdown-timeout", "120"]}, ()),
    # Images, drivers, GPUs.
    ("0.19.1", _image("v0.19.1-cu130"), ()),
    ("0.20.0", _image("v0.20.0-cu130"), (("TAG_NOT_PUBLISHED", "-cu130", "error", "0.20.0"),)),
    ("0.15.1", _image("v0.15.1-cu130"), (("TAG_NOT_PUBLISHED", "-cu130", "error", ""),)),
    ("0.19.0", _image("v0.19.0-cu129"), (("TAG_NOT_PUBLISHED", "-cu129", "error", ""),)),
    ("0.32.0", _image("v0.32.0-cu129"), ()),
    ("0.33.0", _image("v0.33.0-ubuntu2404"), (("TAG_NOT_PUBLISHED", "-ubuntu2404", "error", "0.33.0"),)),
    ("0.33.0", {"image": "example.org/mine:v0.33.0-cu129"}, ()),
    ("0.26.0", _image("v0.26.0", host={"driver": "580.65.06", "gpu": "H100"}), ()),
    (
        "0.26.0",
        _image("v0.26.0", host={"driver": "570.86.10", "gpu": "H100"}),
        (("DRIVER_TOO_OLD", "580.65.06", "error", ""),),
    ),
    ("0.26.0", _image("v0.26.0-cu129", host={"driver": "570.86.10", "gpu": "H100"}), ()),
    (
        "0.26.0",
        _image(
            "v0.26.0",
            host={"driver": "570.86.10", "gpu": "H100"},
            env={"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"},
        ),
        (),
    ),
    (
        "0.26.0",
        _image(
            "v0.26.0",
            host={"driver": "570.86.10", "gpu": "NVIDIA GeForce RTX 4090"},
            env={"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"},
        ),
        (("DRIVER_TOO_OLD", "580.65.06", "error", ""),),
    ),
    ("0.19.1", {"host": {"driver": "535.161.08"}}, ()),
    ("0.19.1", {"host": {"driver": "470.82.01"}}, (("DRIVER_TOO_OLD", "525.60.13", "error", ""),)),
    ("0.19.1", {"host": {"gpu": "V100", "compute_capability": "7.0"}}, ()),
    ("0.20.0", {"host": {"gpu": "Tesla V100-SXM2-32GB"}}, (("GPU_UNSUPPORTED", "7.0", "error", "0.20.0"),)),
    ("0.20.0", {"host": {"gpu": "T4", "compute_capability": "7.5"}}, ()),
    # Shared memory.
    ("0.26.0", {"container": {"shm_size": "64m", "tensor_parallel_size": 2}}, ()),
    (
        "0.33.0",
        {"container": {"shm_size": "128m", "tensor_parallel_size": 4}},
        (("SHM_TOO_SMALL", "/dev/shm", "error", "0.27.0"),),
    ),
    ("0.27.1", {"container": {"shm_size": "1g", "tensor_parallel_size": 2}}, ()),
    ("0.27.1", {"container": {"shm_size": "64m", "tensor_parallel_size": 1}}, ()),
    ("0.27.1", {"container": {"ipc": "host", "tensor_parallel_size": 4}}, ()),
    # Entry points.
    ("0.11.1", _image("v0.11.1", command=["a/b", "--port", "8000"]), ()),
    (
        "0.10.2",
        _image("v0.10.2", command=["a/b", "--port", "8000"]),
        (("ENTRYPOINT_MISMATCH", "positional model", "error", ""),),
    ),
    ("0.11.0", _image("v0.11.0", command=["--model", "a/b"]), ()),
    (
        "0.26.0",
        _image("v0.26.0", command=["vllm", "serve", "a/b"]),
        (("ENTRYPOINT_MISMATCH", "vllm serve", "error", ""),),
    ),
    # Open routes.
    (
        "0.15.1",
        OPEN_BIND,
        (
            ("ENDPOINT_UNGUARDED", "/invocations", "warning", ""),
            ("ENDPOINT_UNGUARDED", "/pause", "warning", ""),
            ("ENDPOINT_UNGUARDED", "/metrics", "info", ""),
        ),
    ),
    (
        "0.16.0",
        OPEN_BIND,
        (("ENDPOINT_UNGUARDED", "/invocations", "warning", ""), ("ENDPOINT_UNGUARDED", "/metrics", "info", "")),
    ),
    ("0.26.0", {**OPEN_BIND, "host_bind": "127.0.0.1", "env": {"VLLM_SERVER_DEV_MODE": "1"}}, ()),
    ("0.26.0", {"args": ["--api-key", "k"]}, ()),
    (
        "0.26.0",
        {"args": [], "env": {"VLLM_SERVER_DEV_MODE": "1"}, "host_bind": "10.0.0.5"},
        (("DEV_ENDPOINTS_EXPOSED", "/collective_rpc", "error", ""),),
    ),
    ("0.26.0", {"args": [], "env": {"VLLM_SERVER_DEV_MODE": "0"}, "host_bind": "10.0.0.5"}, ()),
    # Patterns for the log.
    ("0.26.0", {"log_regex": r"GPU KV cache size: ([\d,]+) tokens"}, ()),
    (
        "0.19.1",
        {"log_regex": r"init engine .* took ([\d.]+) seconds"},
        (("LOG_PATTERN_BREAKS_LATER", "init_engine", "warning", "0.20.0"),),
    ),
    ("0.19.1", {"log_regex": r"init engine .* took ([\d.]+) s"}, ()),
)


@pytest.mark.parametrize(("version", "given", "expected"), CASES)
def test_exactly_what_the_tables_say(version: str, given: dict[str, Any], expected: Expected) -> None:
    found = [each for each in audit_config(given, version).findings if each.id in OF_TABLES]
    assert len(found) == len(expected), found
    for code, part, severity, since in expected:
        match = [each for each in found if each.id == code and each.subject.endswith(part)]
        assert match, (code, part, found)
        assert match[0].severity == severity
        assert since in {"", match[0].since}
        assert match[0].message
        assert match[0].remedy
        assert match[0].source


def test_there_are_enough_of_both_kinds() -> None:
    assert len([case for case in CASES if case[2]]) >= 40
    assert len([case for case in CASES if not case[2]]) >= 30
    assert {row[0] for case in CASES for row in case[2]} >= OF_TABLES - {"DEFAULT_CHANGED", "ENV_DEFAULT_CHANGED"}
