# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The log of a start on the disk: whole, bounded, compressed past a size, and a disk that refuses."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import Disk
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.kept_log import LogWriter, find, read_lines, size_of


def same(line):
    return line


def write(folder, lines, disk=None, **limits):
    """Keep these lines; the writer afterwards."""
    writer = LogWriter(folder, "log.new", same, disk=disk or Disk(), **limits)
    for line in lines:
        writer.add(line)
    writer.close()
    return writer


def test_a_log_is_kept_line_by_line(tmp_path):
    writer = write(tmp_path, ["one", "zw\u00f6lf", ""])
    assert (tmp_path / "log").read_bytes() == "one\nzw\u00f6lf\n\n".encode()
    assert (tmp_path / "log").stat().st_mode & 0o777 == 0o644
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert (writer.lines, writer.left_out, writer.error) == (3, 0, "")
    assert list(read_lines(find(tmp_path))) == ["one", "zw\u00f6lf", ""]
    assert size_of(tmp_path) == 12


def test_nothing_to_keep_is_no_file(tmp_path):
    write(tmp_path, [])
    assert list(tmp_path.iterdir()) == [] and find(tmp_path) is None


def test_a_log_past_a_mebibyte_is_compressed_and_reads_the_same(tmp_path):
    (tmp_path / "log").write_text("the shorter one from before\n")
    lines = [f"{number:07d} {'x' * 100}" for number in range(12_000)]
    write(tmp_path, lines)
    assert [path.name for path in tmp_path.iterdir()] == ["log.gz"]
    assert gzip.decompress((tmp_path / "log.gz").read_bytes()).decode().splitlines() == lines
    assert list(read_lines(find(tmp_path))) == lines
    write(tmp_path, ["short"])
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_the_middle_of_a_long_log_is_left_out_and_counted(tmp_path):
    writer = write(tmp_path, [f"{number:03d}" for number in range(1000)], limits=(40, 20))
    kept = (tmp_path / "log").read_text().splitlines()
    gap = ["[... 985 lines left out ...]"]
    assert kept == [*(f"{n:03d}" for n in range(10)), *gap, *(f"{n:03d}" for n in range(995, 1000))]
    assert (writer.lines, writer.left_out) == (1000, 985)


def test_what_is_written_can_be_read_before_it_is_complete(tmp_path):
    writer = LogWriter(tmp_path, "log.part", same)
    writer.add("one")
    assert find(tmp_path) is None
    writer.flush()
    assert (tmp_path / "log.part").read_text() == "one\n" and find(tmp_path).name == "log.part"
    writer.add("two")
    writer.close()
    assert (tmp_path / "log").read_text() == "one\ntwo\n" and find(tmp_path).name == "log"


def test_a_damaged_log_is_read_as_far_as_it_goes(tmp_path):
    lines = [f"{number * 7919 % 100_003} {'x' * 90}" for number in range(12_000)]
    write(tmp_path, lines)
    path = tmp_path / "log.gz"
    path.write_bytes(path.read_bytes()[:-2000])
    found = list(read_lines(path))
    assert 1000 < len(found) < len(lines) and found[:-1] == lines[: len(found) - 1]
    assert found[-1].startswith("[... the rest of log.gz cannot be read: ")


def test_memory_does_not_grow_with_the_log(tmp_path):
    lines = (f"{number} {'x' * 1000}" for number in range(40_000))  # 40 MB
    tracemalloc.start()
    write(tmp_path, lines, limits=(8 << 20, 1 << 20))
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20


class Small(Disk):
    """Takes so many bytes and no more."""

    def __init__(self, room):
        self.room = room

    def write(self, descriptor, data):
        if self.room <= 0:
            raise OSError(28, "No space left on device")
        written = super().write(descriptor, data[: self.room])
        self.room -= written
        return written


def test_what_fits_on_a_full_disk_is_kept_and_room_is_given_back(tmp_path):
    lines = [f"{number:06d} {'x' * 92}" for number in range(20_000)]  # 100 bytes each
    writer = write(tmp_path, lines, disk=Small(1_000_050))
    assert writer.error == "No space left on device"
    kept = (tmp_path / "log").read_text().splitlines()
    assert kept == lines[: len(kept)] and 9_300 < len(kept) < 9_360
    assert writer.left_out == len(lines) - len(kept)
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


@pytest.mark.parametrize("room", [0, 10])
def test_a_disk_that_takes_nothing_is_no_exception(tmp_path, room):
    writer = write(tmp_path, ["one line that is too long", "another"], disk=Small(room))
    assert (writer.error, writer.left_out) == ("No space left on device", 2)
    assert not [line for path in tmp_path.iterdir() for line in path.read_text().splitlines()]


def test_without_room_for_compressing_it_stays_as_it_is(tmp_path):
    class Half(Disk):
        def fsync(self, descriptor):
            super().fsync(descriptor)

        def replace(self, source, target):
            if target.name == "log.gz":
                raise OSError(28, "No space left on device")
            super().replace(source, target)

    lines = [f"{number:07d} {'x' * 100}" for number in range(12_000)]
    write(tmp_path, lines, disk=Half())
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    assert (tmp_path / "log").read_text().splitlines() == lines
