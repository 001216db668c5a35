# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are to be audited: read as text, or named."""

from __future__ import annotations

import os

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.subjects import MOST, Unreadable, read_subject_text


def test_a_text_is_read_without_its_mark(tmp_path):
    path = tmp_path / "compose.yml"
    path.write_bytes(b"\xef\xbb\xbfservices: {}\n")
    assert read_subject_text(path) == "services: {}\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"a\0b", "zero byte at 1"), (b"\x7fELF\xff", "byte 4 is not UTF-8"), (b"x" * (MOST + 1), "larger than 4 MiB")],
)
def test_what_is_no_text_is_named(tmp_path, content, words):
    path = tmp_path / "odd"
    path.write_bytes(content)
    with pytest.raises(Unreadable, match=words) as caught:
        read_subject_text(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "expected: a compose file, a unit, a rule file" in str(caught.value)


def test_what_is_no_file_is_named(tmp_path):
    with pytest.raises(Unreadable, match=r"none\.yml: No such file or directory"):
        read_subject_text(tmp_path / "none.yml")
    with pytest.raises(Unreadable, match="Is a directory"):
        read_subject_text(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreadable, match="pipe: not a file"):
        read_subject_text(tmp_path / "pipe")
