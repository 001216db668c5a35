# SPDX-License-Identifier: Apache-2.0
"""A remedy says what to change in the inventory, with the figures of the log."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup._replaced import REPLACED
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.finding import startup_finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.parse import parse_startup_log
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.remedies import remedy
from ansible_collections.gpuhosts.vllm.plugins.module_utils.startup.slugs import SLUGS


@pytest.mark.parametrize(
    ("slug", "details", "wanted"),
    [
        (
            "kv_cache_too_small",
            {"max_model_len": 40960, "needed_gib": 5.62, "available_gib": 4.1, "estimated_max_model_len": 29856},
            "lower max-model-len from 40960 to 29856 at most, or give the KV cache 1.52 GiB more"
            " (gpu-memory-utilization, more GPUs)",
        ),
        (
            "kv_cache_too_small",
            {"max_model_len": 131072, "needed_gib": 16.0, "available_gib": 4.0},
            "lower max-model-len from 131072 to about 32768 at most, or give the KV cache 12.00 GiB more"
            " (gpu-memory-utilization, more GPUs)",
        ),
        (
            "kv_cache_too_small",
            {"max_model_len": 131072, "kv_tokens_available": 86432},
            "lower max-model-len from 131072 to 86432 at most (gpu-memory-utilization, more GPUs)",
        ),
        (
            "gpu_memory_busy",
            {"free_gib": 5.92, "total_gib": 79.19, "utilization": 0.9, "wanted_gib": 71.27},
            "end what else uses the GPU: 65.35 GiB are missing (nvidia-smi shows who), or lower gpu-memory-utilization"
            " to 0.07",
        ),
        (
            "oom_weights",
            {"oom_tried_mib": 896.0, "gpu_free_mib": 739.81},
            "use more GPUs (tensor-parallel-size), a quantized model, or a GPU with more memory"
            " (it asked for 896 MiB, 740 MiB were free)",
        ),
        (
            "max_model_len_exceeds_model",
            {"max_model_len": 131072, "derived_max_model_len": 32768},
            "lower max-model-len from 131072 to 32768 at most",
        ),
        ("tp_size_invalid", {"heads": 40, "tp": 3}, "set tensor-parallel-size to a divisor of 40 (1, 2, 4, 8), not 3"),
        (
            "tp_size_invalid",
            {"tp": 4, "gpus": 1},
            "lower tensor-parallel-size times pipeline-parallel-size from 4 to the 1 GPUs there are",
        ),
        (
            "unrecognized_arguments",
            {"argument": "--enable-reasoning --reasoning-parser deepseek_r1"},
            "--enable-reasoning is gone since 0.10.0: take it out (--reasoning-parser alone turns reasoning on)",
        ),
        (
            "unrecognized_arguments",
            {"argument": "--no-such-thing"},
            "take --no-such-thing out of config, or correct its name or value",
        ),
        (
            "driver_too_old_for_cuda",
            {"driver_cuda_code": 12080},
            "the driver of the host knows CUDA 12.8: update it, or use an image with CUDA 12.8 or older",
        ),
        ("port_in_use", {}, "stop what listens there (ss -ltnp), or choose another port"),
        ("none", {}, None),
        ("sigterm_after_ready", {}, None),
    ],
)
def test_a_remedy_has_the_figures(slug: str, details: dict[str, object], wanted: str | None) -> None:
    assert remedy(slug, details) == wanted


@pytest.mark.parametrize("slug", sorted(set(SLUGS) - {"sigterm_after_ready"}))
def test_every_diagnosis_has_a_remedy_without_figures_too(slug: str) -> None:
    assert remedy(slug, {})


def test_the_table_of_options_names_releases_and_options() -> None:
    assert all(len(since.split(".")) == 3 for since, _instead, _note in REPLACED.values())
    assert not {instead.split()[0].removeprefix("--") for _since, instead, _note in REPLACED.values() if instead} & set(
        REPLACED
    )


def test_a_failure_becomes_a_finding_with_its_page() -> None:
    found = startup_finding(parse_startup_log("vllm: error: unrecognized arguments: --swap-space 8\n"), "gpu1 chat")
    assert found is not None
    assert (found.id, found.severity, found.subject) == ("unrecognized_arguments", "error", "gpu1 chat")
    assert found.source == "docs/runbooks/diagnoses/unrecognized_arguments.md"
    assert found.observed == ["vllm: error: unrecognized arguments: --swap-space 8"]


@pytest.mark.parametrize("text", ["", "INFO:     Application startup complete.\n"])
def test_what_serves_or_is_on_its_way_is_no_finding(text: str) -> None:
    assert startup_finding(parse_startup_log(text), "gpu1 chat") is None


ARGUMENTS = "(APIServer pid=1) INFO 04-04 10:00:00 [u.py:3] non-default args: {'model': 'a/b', 'port': 8123}\n"
ENGINE = (
    "(EngineCore pid=2) INFO 04-04 10:00:09 [c.py:3] Initializing a V1 LLM engine (v0.32.0) with config: model='a/b'\n"
)
TAKEN = "OSError: [Errno 98] Address already in use\n"


def test_a_taken_port_that_the_error_does_not_name_is_the_servers_until_there_is_an_engine() -> None:
    report = parse_startup_log(ARGUMENTS + TAKEN)
    assert report.remedy == "stop what listens on port 8123 (ss -ltnp sport = :8123), or choose another port"
    report = parse_startup_log(ARGUMENTS + ENGINE + TAKEN)
    assert (report.diagnosis, report.remedy) == (
        "port_in_use",
        "stop what listens there (ss -ltnp), or choose another port",
    )
