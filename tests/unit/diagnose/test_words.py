# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The words after `vllm serve`, read back."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.options import option
from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.words import (
    KINDS,
    number,
    of_kind,
    read_words,
    whole,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import Version


def test_words_become_options() -> None:
    words = ["/m", "--port", "8000", "--enforce-eager", "--no-enable-prefix-caching", "--served-model-name", "a", "b"]
    assert read_words([*words, "--seed=-1", "--no-such-thing", "x"]) == {
        "port": "8000",
        "enforce-eager": True,
        "enable-prefix-caching": False,
        "served-model-name": ["a", "b"],
        "seed": "-1",
        "no-such-thing": "x",
    }
    assert read_words([]) == read_words(["/m"]) == {}


@pytest.mark.parametrize(
    ("text", "value"),
    [("1024", 1024), ("32k", 32000), ("32K", 32768), ("1.5k", 1500), ("auto", None), ("", None), (7, 7), (True, None),
     ("1e400k", None)],
)  # fmt: skip
def test_counts_are_read_as_vllm_reads_them(text: object, value: int | None) -> None:
    assert number(text) == value


def test_a_count_has_a_default() -> None:
    assert whole({"a": "4"}, "a", 1) == 4 and whole({"a": ["4"]}, "a", 1) == 1 and whole({}, "a", 1) == 1


def test_every_option_of_a_kind_is_one() -> None:
    names = [name for kind in KINDS.values() for name in kind]
    assert len(names) == len(set(names))
    assert not [name for name in names if not option(name, Version(0, 32)).known]
    assert of_kind({"seed": "1", "port": "2"}, "sampling") == {"seed": "1"}
