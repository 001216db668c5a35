# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The words after ``vllm serve``, kind by kind and release by release."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.arguments import (
    ArgumentFault,
    argument_list,
    argument_notes,
    option_words,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

V32 = parse_version("0.32.0")
OLDEST = parse_version("0.11.1")
DEPLOYABLE = ["0.11.1", "0.15.1", "0.16.0", "0.27.1", "0.28.0", "0.31.0", "0.32.0", "0.33.0", "0.40.0"]


def test_the_model_comes_first_then_the_options_by_name():
    config = {"tensor_parallel_size": 2, "max-model-len": 4096}
    assert argument_list("/srv/m", config, V32) == (
        "/srv/m",
        "--max-model-len",
        "4096",
        "--tensor-parallel-size",
        "2",
    )


@pytest.mark.parametrize("version", DEPLOYABLE)
def test_false_is_never_dropped_where_the_option_can_be_switched_off(version):
    # `vllm serve --config` dropped it in silence before 0.28.0.
    assert option_words("enable-prefix-caching", False, parse_version(version)) == ("--no-enable-prefix-caching",)


@pytest.mark.parametrize("version", DEPLOYABLE)
def test_false_is_no_word_where_it_is_the_only_default(version):
    assert option_words("disable-log-stats", False, parse_version(version)) == ()


@pytest.mark.parametrize("version", DEPLOYABLE)
def test_null_is_left_out_and_never_the_word_none(version):
    assert argument_list("m", {"max-model-len": None, "enable-lora": None}, parse_version(version)) == ("m",)


@pytest.mark.parametrize("version", DEPLOYABLE)
def test_a_map_is_one_json_word_with_sorted_keys(version):
    value = {"pass_config": {"b": 1, "a": True}, "mode": 0, "name": "é"}
    assert option_words("compilation-config", value, parse_version(version)) == (
        "--compilation-config",
        '{"mode":0,"name":"é","pass_config":{"a":true,"b":1}}',
    )


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("enable-prefix-caching", True, ("--enable-prefix-caching",)),
        ("served-model-name", ["a", "b"], ("--served-model-name", "a", "b")),
        ("served-model-name", "a", ("--served-model-name", "a")),
        ("served-model-name", ["-a"], ("--served-model-name=-a",)),
        ("cudagraph-capture-sizes", [1, 2, 4], ("--cudagraph-capture-sizes", "1", "2", "4")),
        ("allowed-origins", ["*", "http://x"], ("--allowed-origins", '["*","http://x"]')),
        ("allowed-origins", "*", ("--allowed-origins", '["*"]')),
        ("allowed-origins", '["*"]', ("--allowed-origins", '["*"]')),
        ("allowed-origins", [], ("--allowed-origins", "[]")),
        ("middleware", ["a.b", "c.d"], ("--middleware", "a.b", "--middleware", "c.d")),
        ("device-ids", [0, 1], ("--device-ids", "0,1")),
        ("tool-server", ["a:1", "b:2"], ("--tool-server", "a:1,b:2")),
        ("lora-modules", [{"path": "/a", "name": "x"}, "y=/b"], ("--lora-modules", '{"name":"x","path":"/a"}', "y=/b")),
        ("gpu-memory-utilization", 0.9, ("--gpu-memory-utilization", "0.9")),
        ("max-model-len", "32k", ("--max-model-len", "32k")),
        ("max-logprobs", -1, ("--max-logprobs=-1",)),
        ("quantization", "", ("--quantization", "")),
        ("hf-overrides", '{"a": 1}', ("--hf-overrides", '{"a": 1}')),
        ("limit-mm-per-prompt", {"image": 2}, ("--limit-mm-per-prompt", '{"image":2}')),
        ("device-memory-utilization", 0.5, ("--device-memory-utilization", "0.5")),
    ],
)  # fmt: skip
def test_each_kind_has_its_words(name, value, words):
    assert option_words(name, value, V32) == words


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("enable-prefix-caching", "true"),
        ("disable-log-stats", 1),
        ("max-model-len", True),
        ("max-model-len", [1]),
        ("max-model-len", {"a": 1}),
        ("compilation-config", 3),
        ("compilation-config", False),
        ("served-model-name", []),
        ("served-model-name", [None]),
        ("served-model-name", ["a", "--b"]),
        ("cudagraph-capture-sizes", [1, True]),
        ("device-ids", ["0,1", "2"]),
        ("allowed-origins", {"a": 1}),
        ("no-such-option", [[1]]),
    ],
)
def test_a_value_that_the_kind_cannot_take_is_refused(name, value):
    with pytest.raises(ArgumentFault) as caught:
        option_words(name, value, V32)
    assert caught.value.key == name
    assert caught.value.allowed


def test_an_option_that_nobody_knows_is_passed_as_written_with_a_warning():
    config = {"max-modle-len": 5, "zz-top": False, "zz-list": ["a"], "zz-map": {"a": 1}, "zz-on": True}
    words = argument_list("m", config, V32)
    assert words == (
        "m", "--max-modle-len", "5", "--zz-list", "a", "--zz-map", '{"a":1}', "--zz-on", "--no-zz-top",
    )  # fmt: skip
    notes = argument_notes("chat", config, V32)
    assert {note.id for note in notes} == {"unknown_option"}
    assert [note.remedy for note in notes if note.observed == "max-modle-len"] == ["did you mean max-model-len?"]


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("shutdown-timeout", "0.16.0", "since 0.18.0"),
        ("swap-space", "0.32.0", "gone in 0.18.0"),
        ("mamba-cache-mode", "0.14.1", "since 0.15.0"),
    ],
)
def test_an_option_of_another_release_is_passed_with_a_warning(name, version, said):
    config = {name: 4}
    assert argument_list("m", config, parse_version(version)) == ("m", f"--{name}", "4")
    (note,) = argument_notes("chat", config, parse_version(version))
    assert (note.id, note.severity) == ("option_not_in_version", "warning")
    assert said in note.message


def test_options_of_this_release_are_no_reason_to_speak():
    config = {"max-model-len": 1, "enable_lora": True, "task": None}
    assert argument_notes("chat", config, V32) == ()
    assert argument_notes("chat", {"max-model-len": 1}, parse_version("0.40.0")) == ()
