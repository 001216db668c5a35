# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The options of vLLM inside a service."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("model", "key model"),
        ("host", "key bind"),
        ("port", "key port"),
        ("revision", "key revision"),
        ("api-key", "VLLM_API_KEY in vllm_secrets"),
        ("api_key", "VLLM_API_KEY in vllm_secrets"),
        ("hf-token", "HF_TOKEN in vllm_secrets"),
        ("config", "by its own name"),
        ("ssl-keyfile", "plain HTTP"),
        ("uds", "bind and port"),
        ("headless", "without HTTP"),
        ("--max-model-len", "max-model-len"),
        ("-tp", "tensor-parallel-size"),
        ("tp", "tensor-parallel-size"),
        ("no-enable-prefix-caching", "enable-prefix-caching: false"),
        ("compilation-config.mode", "nested"),
        ("Max-Model-Len", "names of options"),
        ("max model len", "names of options"),
    ],
)
def test_a_name_that_belongs_elsewhere_is_told_where(problem, name, place):
    found = problem(config={name: "hush-hush"})
    assert place in found.allowed
    assert "hush" not in found.line()


def test_the_nearest_option_is_named(problem):
    assert problem(config={"max-model-len.": 1}).nearest == "config.max-model-len"
    assert problem(config={"no-enforce-eager": True}).nearest == "config.enforce-eager"


def test_dashes_and_underscores_are_one_option(problem):
    assert "twice" in problem(config={"max-model-len": 1, "max_model_len": 2}).value


@pytest.mark.parametrize(
    ("config", "key", "allowed"),
    [
        ({"enable-prefix-caching": "false"}, "config.enable-prefix-caching", "true or false, without quotes"),
        ({"max-model-len": True}, "config.max-model-len", "one text or one number"),
        ({"served-model-name": []}, "config.served-model-name", "a list"),
        ({"served-model-name": [5]}, "config.served-model-name", "a name"),
        ({"served-model-name": ""}, "config.served-model-name", "a name"),
        ({"shutdown-timeout": "20s"}, "config.shutdown-timeout", "whole seconds"),
        ({"shutdown-timeout": 3600}, "config.shutdown-timeout", "whole seconds"),
        ({"max-logprobs": float("nan")}, "config.max-logprobs", "a finite number"),
        ({"chat-template": "a\nb"}, "config.chat-template", "one line of text"),
    ],
)
def test_a_value_that_vllm_could_not_take_is_refused(problem, config, key, allowed):
    found = problem(config=config)
    assert (found.key, allowed in found.allowed) == (key, True)


@pytest.mark.parametrize(
    "config",
    [
        {"kv-transfer-config": {"kv_connector_extra_config": {"s3_secret_key": "hush-hush"}}},
        {"hf-overrides": {"list": [{"password": "hush-hush"}]}},
        {"otlp-traces-endpoint": "http://me:hush-hush@host"},
        {"chat-template": "sk-hush-hush-0123456789"},
    ],
)
def test_secrets_inside_options_are_refused_and_not_repeated(problem, config):
    found = problem(config=config)
    assert "vllm_secrets.chat" in found.allowed
    assert "hush" not in found.line()


def test_words_of_models_are_no_secrets(parsed):
    config = {"hf-overrides": {"pad_token": "<pad>", "bos_token_id": 1, "cache_key": "x"}}
    assert parsed(config=config).config == config


def test_an_image_without_a_release_still_has_its_options_judged(problems):
    found = problems(image="x/y:nightly", config={"max-model-len": [1]})
    assert {problem.key for problem in found} == {"version", "config.max-model-len"}
