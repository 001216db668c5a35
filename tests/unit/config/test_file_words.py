# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What ``--config FILE`` becomes, release by release."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.file_words import file_words, with_file
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version


def words(content: dict[str, Any], version: str) -> list[str]:
    """The words of a file."""
    return list(file_words(content, parse_version(version)))


@pytest.mark.parametrize(
    ("content", "version", "expected"),
    [
        ({"port": 8001}, "0.7.3", ["--port", "8001"]),
        ({"enforce-eager": True}, "0.7.3", ["--enforce-eager"]),
        ({"max_model_len": 4096, "dtype": "auto"}, "0.33.0", ["--max_model_len", "4096", "--dtype", "auto"]),
        ({"revision": None}, "0.33.0", ["--revision", "None"]),
        ({"served-model-name": ["a", "b"]}, "0.10.1", ["--served-model-name", "['a', 'b']"]),
        ({"served-model-name": ["a", "b"]}, "0.10.2", ["--served-model-name", "a", "b"]),
        ({"served-model-name": []}, "0.10.2", []),
        ({"speculative-config": {"model": "m"}}, "0.15.1", ["--speculative-config", "{'model': 'm'}"]),
        ({"speculative-config": {"model": "m"}}, "0.16.0", ["--speculative-config", '{"model": "m"}']),
        ({"enable-prefix-caching": False}, "0.27.1", []),
        ({"enable-prefix-caching": False}, "0.28.0", ["--no-enable-prefix-caching"]),
        ({"enable_prefix_caching": False}, "0.28.0", []),
        ({"port": False, "no-such-option": False}, "0.33.0", []),
        ({}, "0.33.0", []),
    ],
)
def test_keys_become_words_as_the_release_makes_them(
    content: dict[str, Any], version: str, expected: list[str]
) -> None:
    assert words(content, version) == expected


def test_the_command_line_comes_behind_the_file_and_the_model_in_front() -> None:
    version = parse_version("0.26.0")
    line = ["org/m", "--port", "8002", "--config", "/etc/vllm.yaml", "--seed", "1"]
    assert with_file(line, {"port": 8001}, version) == ("org/m", "--port", "8001", "--port", "8002", "--seed", "1")
    assert with_file(["--config", "f.yaml"], {"model": "org/m"}, version) == ("--model", "org/m")
    assert with_file(["--seed", "1"], {"port": 1}, version) == ("--port", "1", "--seed", "1")


def test_a_file_that_is_joined_to_the_option_is_never_read() -> None:
    assert with_file(["m", "--config=f.yaml"], {"port": 1}, parse_version("0.33.0")) == ("m", "--config=f.yaml")
