# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are all there or not there, also when the disk writes short or fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import (
    Disk,
    append_record,
    ensure_file,
    is_locked,
    lease,
    link_name,
    make_folder,
    read_if_there,
    remove,
    switch_link,
    write_atomic,
)


class Trace(Disk):
    """Writes what it did, in order."""

    def __init__(self):
        self.calls = []

    def write(self, descriptor, data):
        self.calls.append("write")
        return super().write(descriptor, data)

    def fsync(self, descriptor):
        self.calls.append("folder" if Path(f"/proc/self/fd/{descriptor}").is_dir() else "file")
        super().fsync(descriptor)

    def replace(self, source, target):
        self.calls.append("rename")
        super().replace(source, target)


class Short(Disk):
    """Writes three bytes at a time."""

    def write(self, descriptor, data):
        return os.write(descriptor, data[:3])


class Full(Disk):
    """A full disk: some bytes arrive, then none."""

    def write(self, descriptor, data):
        os.write(descriptor, data[:5])
        raise OSError(errno.ENOSPC, "No space left on device")


class Broken(Disk):
    """The rename fails."""

    def replace(self, source, target):
        raise OSError(errno.EIO, "Input/output error")


def test_a_write_reaches_the_disk_before_it_gets_its_name(tmp_path):
    disk = Trace()
    write_atomic(tmp_path / "a", "text", 0o640, disk)
    assert disk.calls == ["write", "file", "rename", "folder"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


def test_short_writes_are_gone_on_with(tmp_path):
    write_atomic(tmp_path / "a", "a long text", disk=Short())
    assert read_if_there(tmp_path / "a") == "a long text"


@pytest.mark.parametrize("disk", [Full(), Broken()])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, disk):
    (tmp_path / "a").write_text("old")
    with pytest.raises(OSError):
        write_atomic(tmp_path / "a", "new and longer", disk=disk)
    assert read_if_there(tmp_path / "a") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_mode_does_not_depend_on_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        write_atomic(tmp_path / "a", "x", 0o755)
        make_folder(tmp_path / "b" / "c")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755
    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("b", "b/c")] == [0o755, 0o755]


def test_a_link_is_switched_in_one_rename(tmp_path):
    disk = Trace()
    switch_link(tmp_path / "current", "releases/rel-a", disk)
    switch_link(tmp_path / "current", "releases/rel-b", disk)
    assert disk.calls == ["rename", "folder", "rename", "folder"]
    assert link_name(tmp_path / "current") == "rel-b"
    with pytest.raises(OSError):
        switch_link(tmp_path / "current", "releases/rel-c", Broken())
    assert link_name(tmp_path / "current") == "rel-b"
    assert [path.name for path in tmp_path.iterdir()] == ["current"]


def test_what_is_no_link_has_no_name(tmp_path):
    (tmp_path / "file").write_text("x")
    assert link_name(tmp_path / "file") is None
    assert link_name(tmp_path / "missing") is None


def test_records_are_appended_and_brought_to_the_disk(tmp_path):
    disk = Trace()
    append_record(tmp_path / "j", "one\n", disk=disk)
    append_record(tmp_path / "j", "two\n", disk=disk)
    assert read_if_there(tmp_path / "j") == "one\ntwo\n"
    assert disk.calls == ["write", "file", "folder", "write", "file"]


@pytest.mark.parametrize("disk", [Short(), Full()])
def test_a_record_that_was_not_written_whole_is_taken_back(tmp_path, disk):
    append_record(tmp_path / "j", "one\n")
    with pytest.raises(OSError):
        append_record(tmp_path / "j", "two and more\n", disk=disk)
    assert read_if_there(tmp_path / "j") == "one\n"


def test_a_torn_tail_is_cut_off_before_the_next_record(tmp_path):
    (tmp_path / "j").write_text("one\nto")
    append_record(tmp_path / "j", "two\n", good_bytes=4)
    assert read_if_there(tmp_path / "j") == "one\ntwo\n"


def test_ensure_file_changes_what_differs_only(tmp_path):
    path, owner = tmp_path / "etc" / "secrets", os.getuid()
    wanted = {"mode": 0o600, "owner": owner, "folder_mode": 0o700}
    assert ensure_file(path, "A=1\n", check=True, **wanted) and not path.exists()
    assert ensure_file(path, "A=1\n", **wanted)
    assert path.stat().st_mode & 0o777 == 0o600 and path.parent.stat().st_mode & 0o777 == 0o700
    assert not ensure_file(path, "A=1\n", **wanted)
    path.chmod(0o644)
    assert ensure_file(path, "A=1\n", **wanted) and path.stat().st_mode & 0o777 == 0o600


def test_removing_what_is_not_there_is_no_error(tmp_path):
    (tmp_path / "a").write_text("x")
    assert remove(tmp_path / "a") is True
    assert remove(tmp_path / "a") is False


HOLDER = """
import fcntl, os, sys, time
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
"""


def test_a_lease_is_held_by_one_process_and_let_go_when_it_is_killed(tmp_path):
    path = tmp_path / "run" / "lease"
    with lease(path, "run r1") as held:
        assert held and is_locked(path)
        assert read_if_there(path) == "run r1"
    assert not is_locked(path)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        assert is_locked(path)
        with lease(path, "me", tries=1) as held:
            assert not held
        other.kill()
    with lease(path, "me", tries=1) as held:
        assert held
