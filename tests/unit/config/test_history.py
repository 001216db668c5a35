# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What the tables say of single flags, variables and metrics, release by release."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import history, images, releases, routes
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import Version
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version as v

ROOT = Path(__file__).parents[3]


def test_the_tables_are_what_their_sources_say() -> None:
    command = [sys.executable, str(ROOT / "tools/generate_tables.py"), "--check"]
    done = subprocess.run(command, check=False, timeout=60, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_fifty_one_releases_were_read() -> None:
    assert (len(releases.RELEASES), releases.RELEASES[0], releases.NEWEST) == (51, v("0.7.3"), v("0.33.0"))
    assert list(releases.RELEASES) == sorted(releases.RELEASES)


@pytest.mark.parametrize(
    ("version", "nearest", "newer"),
    [
        ("0.32.0", "0.32.0", False),
        ("0.20.9", "0.20.2", False),
        ("0.34.0", "0.33.0", True),
        ("0.33.0.post1", "0.33.0", True),
        ("0.6.0", "0.7.3", False),
        ("0.8.5.post1", "0.8.5.post1", False),
    ],
)
def test_a_version_that_nobody_read_is_judged_as_the_one_before(version: str, nearest: str, newer: bool) -> None:
    assert (releases.nearest(v(version)), releases.is_newer(v(version))) == (v(nearest), newer)


def known(found: history.History | None) -> history.History:
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "version", "removed", "appears"),
    [
        ("--swap-space", "0.20.2", "0.18.0", None),
        ("--swap-space", "0.17.1", None, None),
        ("--task", "0.26.0", "0.13.0", None),
        ("--attention-backend", "0.12.0", None, "0.13.0"),
        ("--use-gpu-for-pooling-score", "0.16.0", None, "0.17.0"),
        ("--use-gpu-for-pooling-score", "0.18.0", "0.18.0", None),
        ("--max-model-len", "0.7.3", None, None),
        ("--max-model-len", "0.33.0", None, None),
    ],
)
def test_a_flag_is_there_gone_or_to_come(name: str, version: str, removed: str | None, appears: str | None) -> None:
    found = known(history.flag(name))
    assert found.removed_since(v(version)) == (v(removed) if removed else None)
    assert found.appears_in(v(version)) == (v(appears) if appears else None)
    assert found.present(v(version)) == (removed is None and appears is None)


@pytest.mark.parametrize(
    ("name", "old", "new", "changes"),
    [
        ("--gpu-memory-utilization", "0.19.1", "0.20.2", [("0.20.0", 0.9, 0.92)]),
        ("--gpu-memory-utilization", "0.20.2", "0.19.1", [("0.20.0", 0.92, 0.9)]),
        ("--gpu-memory-utilization", "0.20.0", "0.33.0", []),
        ("--allowed-origins", "0.31.0", "0.32.0", [("0.32.0", ["*"], [])]),
        ("--seed", "0.11.2", "0.12.0", [("0.12.0", None, 0)]),
        ("--seed", "0.7.3", "0.12.0", [("0.8.0", 0, None), ("0.12.0", None, 0)]),
        ("--shutdown-timeout", "0.17.0", "0.33.0", []),
        ("--enable-lora", "0.7.3", "0.33.0", []),
    ],
)
def test_a_default_changes_between_two_versions(name: str, old: str, new: str, changes: list[object]) -> None:
    assert known(history.flag(name)).default_changes(v(old), v(new)) == tuple(
        (v(since), before, after) for since, before, after in changes
    )


def test_defaults_that_vllm_computes_are_said_to_be_so() -> None:
    found = known(history.flag("--disable-log-requests"))
    assert found.default(v("0.10.0")) == history.Default(value=False)
    assert found.default(v("0.10.1")).dynamic
    assert known(history.flag("--gpu-memory-utilization")).default(v("0.20.0")).text == "0.92"


@pytest.mark.parametrize(
    ("name", "value", "version", "since"),
    [
        ("--quantization", "bitsandbytes", "0.28.0", "0.28.0"),
        ("--quantization", "bitsandbytes", "0.27.1", None),
        ("--quantization", "gguf", "0.26.0", "0.24.0"),
        ("--quantization", "fp8", "0.33.0", None),
        ("--quantization", "never-was", "0.33.0", None),
        ("--load-format", "bitsandbytes", "0.28.0", "0.28.0"),
        ("--load-format", "auto", "0.10.1", None),
        ("--spec-method", "medusa", "0.33.0", "0.33.0"),
        ("--max-model-len", "1", "0.33.0", None),
    ],
)
def test_a_value_is_gone(name: str, value: str, version: str, since: str | None) -> None:
    assert known(history.flag(name)).choice_removed(value, v(version)) == (v(since) if since else None)


def test_a_value_is_yet_to_come() -> None:
    found = known(history.flag("--quantization"))
    assert found.choice_appears("mxfp4", v("0.10.0")) == v("0.10.1")
    assert found.choice_appears("mxfp4", v("0.10.1")) is None


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("--task", "embed", ("--runner", "pooling", "--convert", "embed")),
        ("--task", "generate", ("--runner", "generate")),
        ("--task", "auto", ()),
        ("--swap-space", "4", ()),
        ("--num-speculative-tokens", "3", ("--speculative-config.num_speculative_tokens", "3")),
        ("--override-pooler-config", '{"a": 1}', ("--pooler-config", '{"a": 1}')),
        ("--disable-mm-preprocessor-cache", None, ("--mm-processor-cache-gb", "0")),
    ],
)
def test_what_to_write_instead(name: str, value: str | None, words: tuple[str, ...]) -> None:
    found = known(history.flag(name))
    assert found.replacement_words(value) == words
    assert found.replacement_for(value) == (" ".join(words) or None)


def test_what_took_its_place_may_be_gone_itself() -> None:
    found = known(history.variable("VLLM_USE_CUDNN_PREFILL"))
    assert found.replacement_for("1", v("0.21.0")) == "--attention-config.use_cudnn_prefill true"
    assert found.replacement_for("1", v("0.22.0")) is None
    assert found.replacement_words("1", v("0.22.0")) == ()


def test_what_to_write_instead_exists() -> None:
    tables = (history.flags(v("0.7.3")), history.flags(v("0.12.0")), history.flags(v("0.26.0")))
    entries = [known(history.flag(name)) for names in tables for name in names]
    entries += [known(history.variable(name)) for name in history.variables()]
    for found in entries:
        for word in filter(lambda word: word.startswith("--"), (found.instead or "").split()):
            told = history.flag(word.split(".")[0])
            gone = found.removed_since(releases.NEWEST) or releases.NEWEST
            assert told is not None, found.name
            assert told.present(releases.NEWEST) and (told.present(gone) or told.appears_in(gone)), found.name
    for found in map(history.metric, history.metrics()):
        for word in re.findall(r"vllm:\w+", known(found).replacement or ""):
            assert known(history.metric(word)).present(releases.NEWEST), known(found).name


def test_whatever_is_gone_was_judged() -> None:
    names = {name for release in releases.RELEASES for name in history.flags(release)}
    assert len(names) == 382
    found = [known(history.flag(name)) for name in names]
    found += [known(history.variable(name)) for name in history.variables()]
    found += [known(history.metric(name)) for name in history.metrics()]
    assert [each.name for each in found if not each.present(releases.NEWEST) and each.instead is None] == []


def test_a_deprecation_is_said_while_the_flag_is_there() -> None:
    found = known(history.flag("--log-config-file"))
    assert found.deprecation(v("0.30.0")) is None
    warned = found.deprecation(v("0.33.0"))
    assert warned is not None
    assert (warned.since, warned.removal) == (v("0.31.0"), v("0.33.0"))
    assert warned.replacement == "--logging-config.pylogging_config_file"
    assert known(history.flag("--task")).deprecation(v("0.13.0")) is None


def test_variables() -> None:
    found = known(history.variable("VLLM_ATTENTION_BACKEND"))
    assert found.removed_since(v("0.26.0")) == v("0.15.0")
    assert found.replacement_for("FLASHINFER") == "--attention-backend FLASHINFER"
    assert found.replacement == "--attention-backend"
    estimate = known(history.variable("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"))
    assert estimate.default_changes(v("0.19.1"), v("0.20.2")) == ((v("0.20.0"), False, True),)
    returned = known(history.variable("VLLM_ROCM_USE_AITER_FP4_ASM_GEMM"))
    assert [returned.present(v(text)) for text in ("0.28.0", "0.30.0", "0.31.0", "0.33.0")] == [
        True,
        False,
        True,
        False,
    ]
    assert returned.removed_since(v("0.29.0")) == v("0.29.0")


def test_metrics_by_their_exported_names() -> None:
    usage = known(history.metric("vllm:gpu_cache_usage_perc"))
    assert [usage.hidden_since(v(text)) for text in ("0.11.0", "0.11.2", "0.12.0")] == [None, v("0.11.1"), None]
    assert (usage.removed_since(v("0.12.0")), usage.type) == (v("0.12.0"), "gauge")
    assert usage.replacement == "vllm:kv_cache_usage_perc"
    tokens = known(history.metric("vllm:prompt_tokens_total"))
    assert all(tokens.present(release) for release in releases.RELEASES)
    assert history.metric("vllm:prompt_tokens") is tokens
    assert known(history.metric("vllm:request_num_preemptions")).appears_in(v("0.26.0")) == v("0.30.0")


def test_names_lead_to_entries() -> None:
    assert known(history.flag("-tp")).name == "--tensor-parallel-size"
    assert [history.flag(name) for name in ("", "--", "--no-such", "swap-space", "--swap-space ", "\n")] == [None] * 6
    assert history.nearest_flag("--max-modle-len") == "--max-model-len"
    assert history.nearest_flag("zzzz") is None
    assert history.nearest_variable("VLLM_ATTENTION_BACKENDS") == "VLLM_ATTENTION_BACKEND"
    assert history.nearest_metric("vllm:kv_cache_usage_percent") == "vllm:kv_cache_usage_perc"
    assert "--swap-space" not in history.flags(v("0.32.0"))
    assert len(history.flags(v("0.32.0"))) == 316


@pytest.mark.parametrize("release", releases.RELEASES, ids=str)
def test_every_release_has_routes_and_an_image(release: Version) -> None:
    assert "/invocations" in {route.path for route in routes.unguarded(release)}
    assert "/v1" in routes.guarded_prefixes(release)
    assert "/sleep" in {route.path for route in routes.development(release)}
    assert images.published(release, "")


def test_routes() -> None:
    assert routes.guarded_prefixes(v("0.21.0")) == ("/v1",)
    assert routes.guarded_prefixes(v("0.33.0")) == ("/v1", "/v2", "/inference", "/cohere")
    open_paths = {text: {route.path for route in routes.unguarded(v(text))} for text in ("0.15.1", "0.16.0", "0.22.0")}
    assert "/pause" in open_paths["0.15.1"]
    assert "/pause" not in open_paths["0.16.0"]
    assert "/v2/rerank" in open_paths["0.15.1"] - open_paths["0.22.0"]
    assert all(route.lets for route in (*routes.unguarded(v("0.33.0")), *routes.development(v("0.33.0"))))
    assert "/collective_rpc" in {route.path for route in routes.development(v("0.10.2"))}


def test_images() -> None:
    assert (images.cuda(v("0.19.1")), images.cuda(v("0.20.0")), images.cuda(v("0.32.0"), "-cu129")) == (
        "12.9.1",
        "13.0.2",
        "12.9.1",
    )
    assert [images.published(v("0.33.0"), name) for name in ("", "-cu129", "-efa", "-mine")] == [
        True,
        False,
        True,
        None,
    ]
    assert images.gone_since("-cu129", v("0.33.0")) == v("0.33.0")
    assert images.gone_since("-cu129", v("0.32.0")) is None
    assert [images.driver_floor(text) for text in ("12.9.1", "13.0.2", "14.0")] == ["525.60.13", "580.65.06", None]
    assert [images.least_capability(v(text)) for text in ("0.19.1", "0.20.0")] == ["7.0", "7.5"]
    assert [images.serve_is_entrypoint(v(text)) for text in ("0.11.0", "0.11.1")] == [False, True]
