# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Looking into files and commands of any size and kind never waits for ever and is never led astray."""

from __future__ import annotations

import gzip
import os
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.peek import (
    Ends,
    ends_of_command,
    ends_of_file,
    ends_of_gzip,
    inside,
    read_small,
    within,
)


@pytest.mark.parametrize("piece", [1, 3, 7, 100])
@pytest.mark.parametrize("size", [0, 5, 10, 14, 15, 16, 60])
def test_the_ends_of_a_stream_are_kept(piece: int, size: int) -> None:
    data = bytes(range(size))
    ends = Ends(10, 5).take(data[at : at + piece] for at in range(0, size, piece))
    assert ends.head == data[:10]
    if ends.gone:
        assert ends.tail == data[-5:] and ends.gone == size - 15
    else:
        assert ends.head + ends.tail == data and size <= 15


def test_a_file_of_any_size_is_not_read_in_between(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("wb") as stream:
        stream.write(b"head")
        stream.truncate(8 << 30)  # a hole: it takes no room
        stream.seek((8 << 30) - 4)
        stream.write(b"tail")
    began = time.monotonic()
    ends = ends_of_file(path, 4, 4)
    assert (ends.head, ends.tail, ends.gone) == (b"head", b"tail", (8 << 30) - 8)
    assert time.monotonic() - began < 1


def test_a_small_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"0123456789")
    ends = ends_of_file(path, 6, 6)
    assert ends.head + ends.tail == b"0123456789" and ends.gone == 0
    assert read_small(path) == "0123456789"
    with pytest.raises(OSError, match="longer than 4 bytes"):
        read_small(path, 4)


def test_a_compressed_file_is_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"head" + bytes(3_000_000)) + gzip.compress(b"tail"))
    ends = ends_of_gzip(path, 4, 4)
    assert (ends.head, ends.tail, ends.gone) == (b"head", b"tail", 3_000_000)


@pytest.mark.parametrize("keep", [0, 5, 12, 40])
def test_a_compressed_file_that_is_torn_gives_what_there_is(tmp_path: Path, keep: int) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(os.urandom(1000))[:keep] + b"\xff" * 20)
    assert len(ends_of_gzip(path, 400, 400).head) <= 400


def test_links_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "link", tmp_path / "pipe", tmp_path, Path("/dev/zero"), tmp_path / "none"):
        with pytest.raises(OSError):
            read_small(path)


def test_a_command_is_read_and_ended() -> None:
    talk = [sys.executable, "-c", "import sys\nfor n in range(200000): print('line', n)"]
    ends = ends_of_command(talk, 14, 12, 30)
    assert ends.head == b"line 0\nline 1\n" and ends.tail.endswith(b"199999\n") and ends.gone > 2_000_000
    began = time.monotonic()
    assert ends_of_command([sys.executable, "-c", "import time; print('x', flush=True); time.sleep(60)"], 9, 9, 2).head
    assert time.monotonic() - began < 20


def test_links_of_a_model_may_not_leave_its_folder(tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "model" / "snapshots", tmp_path / "model" / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "abc").write_text("{}")
    (tmp_path / "secret").write_text("{}")
    (snapshot / "config.json").symlink_to("../blobs/abc")
    (snapshot / "other.json").symlink_to("../../secret")
    assert within(snapshot, "config.json", tmp_path / "model") == blobs / "abc"
    with pytest.raises(OSError, match="leads out of its folder"):
        within(snapshot, "other.json", tmp_path / "model")


def test_links_of_a_container_stay_inside_of_it(tmp_path: Path) -> None:
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "lib").symlink_to("usr/lib")
    (tmp_path / "etc").symlink_to("/usr/../../../usr/lib")
    (tmp_path / "loop").symlink_to("loop")
    assert inside(tmp_path, "/lib/x") == tmp_path / "usr/lib/x"
    assert inside(tmp_path, "/etc/shadow") == tmp_path / "usr/lib/shadow"
    assert inside(tmp_path, "/../../../../etc") == tmp_path / "usr/lib"
    with pytest.raises(OSError, match="too many links"):
        inside(tmp_path, "/loop/x")
