# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Names and values that no release has, that are shortened, or that an environment cannot hold."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding


def _found(given: dict[str, Any], *ids: str, version: str = "0.26.0") -> list[Finding]:
    return [each for each in audit_config(given, version).findings if each.id in ids]


def test_an_unknown_option_names_the_nearest() -> None:
    (only,) = _found({"args": ["m", "--max-modl-length", "4096"]}, "FLAG_UNKNOWN")
    assert (only.severity, only.replacement) == ("error", "--max-model-len")
    (far,) = _found({"args": ["m", "--zzzz"]}, "FLAG_UNKNOWN")
    assert (far.replacement, far.remedy) == (None, "take it out")


@pytest.mark.parametrize(
    "words",
    [
        ["--max_model_len", "4096"],
        ["--tensor-parallel-size=2"],
        ["-tp", "2"],
        ["--no-enable-prefix-caching"],
        ["--speculative-config.method", "ngram"],
        ["--enable-prefix-caching", "--trust-remote-code"],
    ],
)
def test_every_spelling_that_the_parser_takes_is_silent(words: list[str]) -> None:
    assert _found({"args": ["m", *words]}, "FLAG_UNKNOWN", "FLAG_AMBIGUOUS", "flag_abbreviated", "argument_fault") == []


def test_a_beginning_is_information_or_an_error() -> None:
    (short,) = _found({"args": ["m", "--max-model", "4096"]}, "flag_abbreviated")
    assert (short.severity, short.replacement) == ("info", "--max-model-len")
    (many,) = _found({"args": ["m", "--max", "4096"]}, "FLAG_AMBIGUOUS")
    assert many.severity == "error"
    assert "--max-model-len" in many.expected


def test_each_option_is_said_once() -> None:
    assert len(_found({"args": ["m", "--swap-space", "4", "--swap-space=8"]}, "FLAG_REMOVED")) == 1


def test_a_missing_value_is_an_error() -> None:
    (only,) = _found({"args": ["m", "--max-model-len", "--port", "8000"]}, "argument_fault")
    assert only.subject == "subject --max-model-len"
    (word,) = _found({"args": ["m", "--enforce-eager=true"]}, "argument_fault")
    assert "takes no value" in word.message


def test_a_removed_option_says_what_takes_its_place() -> None:
    expected = {
        ("--task", "embed"): "--runner pooling --convert embed",
        ("--guided-decoding-backend", "outlines"): "--structured-outputs-config.backend outlines",
        ("--rope-scaling", "{}"): "--hf-overrides",
        ("--swap-space", "4"): None,
    }
    for words, instead in expected.items():
        (only,) = _found({"args": ["m", *words]}, "FLAG_REMOVED")
        assert only.replacement == instead
        assert only.source is not None
        assert only.source.startswith("vllm/")


def test_a_value_of_a_closed_list_is_an_error() -> None:
    (only,) = _found({"args": ["m", "--dtype", "float8"]}, "VALUE_UNKNOWN")
    assert only.severity == "error"
    assert "bfloat16" in only.expected
    assert _found({"args": ["m", "--dtype", "bfloat16"]}, "VALUE_UNKNOWN") == []
    assert _found({"args": ["m", "--quantization", "plugin"]}, "VALUE_UNKNOWN", "VALUE_REMOVED") == []


def test_an_unknown_variable_names_the_nearest() -> None:
    (only,) = _found({"env": {"VLLM_LOGGING_LEVL": "DEBUG"}}, "ENV_UNKNOWN")
    assert (only.severity, only.replacement) == ("warning", "VLLM_LOGGING_LEVEL")


@pytest.mark.parametrize(
    "name",
    ["VLLM_LOGGING_LEVEL", "MY_VLLM_THING", "VLLM_SERVICE_HOST", "VLLM_PORT_8000_TCP_ADDR", "VLLM_IMAGE_TAG", "OMP_X"],
)
def test_names_of_others_are_silent(name: str) -> None:
    assert _found({"env": {name: "x"}}, "ENV_UNKNOWN", "ENV_REMOVED", "ENV_NOT_YET") == []


def test_a_variable_that_comes_later_is_told() -> None:
    (only,) = _found({"env": {"VLLM_MAX_STOP_STRINGS": "8"}}, "ENV_NOT_YET")
    assert (only.severity, only.since) == ("warning", "0.28.0")
    assert _found({"env": {"VLLM_MAX_STOP_STRINGS": "8"}}, "ENV_NOT_YET", version="0.28.0") == []


def test_a_variable_that_is_no_number() -> None:
    (only,) = _found({"env": {"VLLM_MAX_N_SEQUENCES": "planted"}}, "env_value_form")
    assert only.severity == "error"
    assert "planted" not in repr(only)
    for value in ("64", " 64 ", "$N", ""):
        assert _found({"env": {"VLLM_MAX_N_SEQUENCES": value}}, "env_value_form") == []


def test_images_that_do_not_pass_their_own_validation() -> None:
    code = "image_fails_environ_validation"
    given = {"image": "vllm/vllm-openai:v0.25.1", "args": ["m", "--fail-on-environ-validation"]}
    (only,) = _found(given, code, version="0.25.1")
    assert only.severity == "warning"
    assert _found({**given, "image": "vllm/vllm-openai:v0.26.0"}, code, version="0.26.0") == []
    assert _found({**given, "args": ["m"]}, code, version="0.25.1") == []
    assert _found({**given, "image": "example.org/own:v0.25.1"}, code, version="0.25.1") == []


def test_names_of_backends_are_read_in_either_case() -> None:
    (only,) = _found({"args": ["m", "--attention-backend", "tree_attn"]}, "VALUE_REMOVED")
    assert only.since == "0.21.0"


def test_a_backend_that_the_parser_takes_away_again_is_no_value() -> None:
    for version in ("0.31.0", "0.32.0", "0.33.0"):
        assert len(_found({"args": ["--all2all-backend", "passthrough"]}, "VALUE_UNKNOWN", version=version)) == 1


def test_only_the_first_hundred_unknown_names_are_compared() -> None:
    words = [f"--swap-spaces{number}" for number in range(120)]
    found = _found({"args": words, "env": {f"VLLM_USE_V1X{number}": "1" for number in range(120)}}, "FLAG_UNKNOWN")
    assert len(found) == 120
    assert sum(each.replacement == "--swap-space" for each in found) == 100
    assert _found({"args": ["--" + "swap-space" * 1000]}, "FLAG_UNKNOWN")[0].replacement is None


def test_what_is_proposed_shows_no_secret_of_a_url() -> None:
    (only,) = _found({"args": ["--model", "https://me:pass1@host/m"]}, "FLAG_DEPRECATED")
    assert (only.replacement, "pass1" in str(only)) == ("https://SECRET@host/m", False)


def test_a_word_that_is_repeated_is_looked_up_once() -> None:
    begin = time.perf_counter()
    found = _found({"args": ["m", *["--foo", "bar"] * 5000]}, "FLAG_UNKNOWN")
    assert time.perf_counter() - begin < 3
    assert [each.subject for each in found] == ["subject --foo"]
