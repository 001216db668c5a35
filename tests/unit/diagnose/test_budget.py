# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A bundle is never longer than 20 MB, whatever is in it, and says what it left out."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.diagnose.budget import (
    LOG_HEAD,
    LOG_TAIL,
    MIB,
    TOTAL,
    Part,
    cut,
    fit,
    text_part,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.bundle import pack, write_bytes_atomic


def test_what_fits_is_kept_whole() -> None:
    assert cut(b"a\nb\n", 3, 1) == (b"a\nb\n", 0)


def test_the_middle_goes_in_whole_lines() -> None:
    data = b"".join(b"line %04d\n" % number for number in range(1000))
    kept, gone = cut(data, 45, 25)
    assert (
        kept == b"line 0000\nline 0001\nline 0002\nline 0003\n\n[... 9,940 bytes left out ...]\nline 0998\nline 0999\n"
    )
    assert gone == 9940


def test_a_text_without_lines_is_cut_anyway() -> None:
    kept, gone = cut(b"x" * 1000, 10, 5)
    assert kept == b"x" * 10 + b"\n[... 985 bytes left out ...]\n" + b"x" * 5 and gone == 985


def test_a_part_keeps_to_its_limit_and_adds_what_was_left_out_before() -> None:
    part = text_part("log", "0123456789\n" * 1000, 300, left_out=5)
    assert len(part.data) < 350 and part.left_out > 10_000
    assert text_part("log", "x\n", 300, left_out=5).left_out == 5


def test_the_first_part_that_does_not_fit_is_cut_and_the_others_go() -> None:
    parts = fit([Part("a", b"a" * 5000), Part("b", b"b" * 50_000), Part("c", b"c" * 5000)], total=20_000)
    assert [part.name for part in parts] == ["a", "b"]
    assert len(parts[0].data) == 5000 and 10_000 < len(parts[1].data) < 14_000 and parts[1].left_out > 30_000


def test_what_cannot_be_compressed_keeps_below_20_mb() -> None:
    noise = os.urandom(LOG_HEAD + LOG_TAIL)
    parts = fit([Part(f"p{number}", noise) for number in range(12)])
    packed = pack(parts, "vllm-diagnose-chat", 0)
    assert sum(len(part.data) for part in parts) <= TOTAL
    assert len(packed) + MIB > 18 * MIB and len(packed) < 20_000_000


def test_same_parts_give_same_bytes_in_order_of_their_names() -> None:
    parts = [Part("z/b", b"2"), Part("a", b"1")]
    packed = pack(parts, "vllm-diagnose-chat", 1_770_000_000)
    assert packed == pack(reversed(parts), "vllm-diagnose-chat", 1_770_000_000)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        entries = archive.getmembers()
    assert [entry.name for entry in entries] == ["vllm-diagnose-chat/a", "vllm-diagnose-chat/z/b"]
    assert {(entry.mode, entry.uid, entry.gid, entry.uname, entry.mtime) for entry in entries} == {
        (0o600, 0, 0, "", 1_770_000_000)
    }
    assert all(entry.isreg() for entry in entries)


def test_a_bundle_is_written_whole_and_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    write_bytes_atomic(path, b"data")
    assert path.read_bytes() == b"data" and path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["x.tar.gz"]


def test_a_bundle_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "y").touch()
    with pytest.raises(OSError):
        write_bytes_atomic(tmp_path / "x", b"data")
    assert [each.name for each in tmp_path.iterdir()] == ["x"]
