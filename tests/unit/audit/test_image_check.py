# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A service's arguments against the options that its image lists."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.help import HelpOption, HelpOptions, read_help
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.image_check import compare_help
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import history
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

V32 = parse_version("0.32.0")


def listed_by_the_table(version, without=(), **more):
    """An image whose options are those of the table, as far as their names go."""
    names = [name for name in history.flags(version) if name not in without]
    options = [
        HelpOption(name, (name, f"--no-{name[2:]}"), **more.get(name[2:].replace("-", "_"), {})) for name in names
    ]
    options += [HelpOption("--help", ("--help", "-h"))]
    return HelpOptions(tuple(options), {name: option for option in options for name in option.names})


def found(words, listed, version=V32):
    return [(each.id, each.severity, each.subject) for each in compare_help(words, listed, version, "chat")]


def test_what_the_image_lists_is_silent():
    words = ["m", "--max-model-len", "32k", "--no-enable-prefix-caching", "--served-model-name", "a", "b", "--port=-1"]
    assert found(words, listed_by_the_table(V32)) == []


@pytest.mark.parametrize("word", ["--swap-space", "--swap_space", "--swap-space=4"])
def test_an_option_that_neither_has_is_an_error(word):
    (finding,) = compare_help(["m", word, "4"], listed_by_the_table(V32), V32, "chat")
    assert (finding.id, finding.severity, finding.subject) == ("FLAG_NOT_IN_IMAGE", "error", "chat --swap-space")
    assert "does not list --swap-space" in finding.message and "status 2" in finding.message
    assert finding.source == "vllm serve --help=all of the image"


def test_where_the_table_has_it_and_the_image_not_both_is_said():
    listed = listed_by_the_table(V32, without=("--async-scheduling",))
    assert found(["m", "--no-async-scheduling"], listed) == [
        ("FLAG_NOT_IN_IMAGE", "error", "chat --no-async-scheduling"),
        ("TABLE_DIFFERS", "warning", "chat --no-async-scheduling"),
    ]


def test_where_the_image_has_it_and_the_table_not_the_image_wins():
    options = listed_by_the_table(V32)
    more = HelpOption("--swap-space", ("--swap-space",), "SWAP_SPACE")
    listed = HelpOptions((*options.options, more), {**options.by_name, "--swap-space": more})
    assert found(["m", "--swap-space", "4"], listed) == [("TABLE_DIFFERS", "warning", "chat --swap-space")]
    (other,) = compare_help(["m"], listed, V32, "chat")
    assert (other.id, other.severity, other.observed) == ("TABLE_DIFFERS", "info", 1)
    assert "also has --swap-space; this service uses none of them" in other.message


def test_a_value_that_is_no_choice_is_an_error_and_a_near_one_is_not():
    choices = {"lora_dtype": {"choices": ("auto", "float16")}, "max_lora_rank": {"choices": ("8", "16")}}
    listed = listed_by_the_table(V32, **choices)
    assert found(["m", "--lora-dtype", "float16", "--max-lora-rank", "016"], listed) == []
    (finding,) = compare_help(["m", "--lora-dtype=fp16"], listed, V32, "chat")
    assert (finding.id, finding.observed, finding.expected) == ("VALUE_NOT_IN_IMAGE", "fp16", "auto, float16")


def test_a_beginning_that_only_one_option_has_is_taken_as_argparse_takes_it():
    listed = listed_by_the_table(V32)
    assert found(["m", "--max-model-le", "1"], listed) == []
    assert found(["m", "--max-", "1"], listed) == [("FLAG_NOT_IN_IMAGE", "error", "chat --max-")]


def test_keys_below_an_option_are_its_own():
    listed = listed_by_the_table(V32)
    assert found(["m", "--compilation-config.mode", "3", "--compilation-config.custom_ops+", "none"], listed) == []


def test_of_a_release_that_the_table_does_not_know_only_the_image_speaks():
    newer = parse_version("9.1.0")
    option = HelpOption("--of-tomorrow", ("--of-tomorrow",), "X")
    listed = HelpOptions((option,), {"--of-tomorrow": option})
    assert found(["m", "--of-tomorrow", "1"], listed, newer) == []
    assert found(["m", "--port", "1"], listed, newer) == [("FLAG_NOT_IN_IMAGE", "error", "chat --port")]


def test_a_text_without_options_is_no_reason_to_raise():
    assert found(["m", "--port", "1"], read_help(""))[0][0] == "FLAG_NOT_IN_IMAGE"
