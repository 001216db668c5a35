# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Speculative decoding: the JSON object and its shorthands, the draft's parallelism, vocabularies that differ.

Private to the collection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...config.command_line import CommandLine
from ...findings import ERROR
from ...versions import Version
from ..case import Case
from .saying import Said, line_rule

_SHORTHANDS = (("--spec-method", "method"), ("--spec-model", "model"), ("--spec-tokens", "num_speculative_tokens"))
_NO_DRAFT_MODEL = frozenset({"ngram", "[ngram]", "ngram_gpu", "suffix", "extract_hidden_states", "custom_class"})
_NEEDS_MODEL = frozenset({"eagle", "eagle3", "draft_model", "medusa"})


def speculation(line: CommandLine) -> dict[str, Any] | None:
    """The object as vLLM sees it, shorthands included; None where there is none."""
    given = line.mapping("--speculative-config")
    short = {key: line.value(flag) for flag, key in _SHORTHANDS if line.has(flag)}
    if given is None and not short:
        return None
    return {**short, **{str(key).replace("-", "_"): value for key, value in (given or {}).items()}}


def _is_set(config: Mapping[str, Any], key: str) -> bool:
    return config.get(key) not in (None, "")


@line_rule(
    "speculative_option_twice",
    ERROR,
    "vllm/engine/arg_utils.py (create_speculative_config) 0.22.0, 0.28.0, 0.33.0",
    since=Version(0, 22),
)
def _twice(case: Case, line: CommandLine) -> Iterator[Said]:
    config = line.mapping("--speculative-config") or {}
    for flag, key in _SHORTHANDS:
        if line.has(flag) and key in config:
            yield Said(
                flag,
                f"{flag} {line.value(flag)} and the {key} of --speculative-config ({config[key]}) say the same thing: "
                "vLLM refuses to start, even where both agree",
                f"keep {flag} or the key, not both",
                observed=f"{flag} {line.value(flag)}, {key}={config[key]}",
            )


@line_rule(
    "draft_tensor_parallel_size",
    ERROR,
    "vllm/config/speculative.py (_verify_and_get_draft_tp) 0.19.1, 0.28.0, 0.33.0; vllm/config.py 0.9.2",
)
def _draft_parallel(case: Case, line: CommandLine) -> Iterator[Said]:
    config = speculation(line) or {}
    draft, target = config.get("draft_tensor_parallel_size"), _target_size(line)
    if not isinstance(draft, int) or isinstance(draft, bool) or target is None or draft in (1, target):
        return
    if config.get("method") in _NO_DRAFT_MODEL:
        return
    allowed = [1] if target == 1 else [1, target]
    yield Said(
        "--speculative-config",
        f"draft_tensor_parallel_size is {draft}, the model's --tensor-parallel-size is {target}: "
        "vLLM takes 1 or the same number only and refuses to start",
        "give 1 or leave the key out, then the draft is spread like the model",
        expected=allowed,
        observed=draft,
    )


def _target_size(line: CommandLine) -> int | None:
    return line.integer("--tensor-parallel-size") if line.has("--tensor-parallel-size") else 1


@line_rule(
    "speculative_model_missing",
    ERROR,
    "vllm/config/speculative.py (num_speculative_tokens without a model) 0.11.1, 0.19.1, 0.28.0, 0.33.0",
    since=Version(0, 11, 1),
)
def _model_missing(case: Case, line: CommandLine) -> Iterator[Said]:
    config = speculation(line) or {}
    method = config.get("method")
    if not _is_set(config, "num_speculative_tokens") or _is_set(config, "model"):
        return
    if method is None or method in _NEEDS_MODEL:
        how = f"the method {method}" if method else "speculation without a method"
        yield Said(
            "--speculative-config",
            f"{how} needs a draft model, and none is named: vLLM refuses to start",
            "name it under `model`, or choose a method without one (ngram, suffix, mtp)",
            expected="model",
        )


@line_rule(
    "heterogeneous_vocabulary_not_greedy",
    ERROR,
    "vllm/config/speculative.py (use_heterogeneous_vocab) 0.25.1, 0.28.0, 0.33.0; not in 0.24.0",
    since=Version(0, 25),
)
def _vocabularies(case: Case, line: CommandLine) -> Iterator[Said]:
    config = speculation(line) or {}
    if config.get("use_heterogeneous_vocab") is not True:
        return
    method, sampling = config.get("method"), config.get("draft_sample_method", "greedy")
    if sampling != "greedy":
        yield Said(
            "--speculative-config",
            f"use_heterogeneous_vocab works with greedy drafts only, draft_sample_method is {sampling}: "
            "vLLM refuses to start",
            "leave draft_sample_method out, greedy is the default",
            expected="greedy",
            observed=sampling,
        )
    if method not in (None, "draft_model"):
        yield Said(
            "--speculative-config",
            f"use_heterogeneous_vocab works with the method draft_model only, not with {method}: vLLM refuses to start",
            "leave use_heterogeneous_vocab out, or speculate with a draft model",
            expected="draft_model",
            observed=method,
        )


RULES = (_twice, _draft_parallel, _model_missing, _vocabularies)
