# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Files that survive a power cut: a write is either all there or not there. No decisions.

Functions that write take the calls that touch the disk, so that a test can let them fail or write short.
Private to the collection.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path


class Disk:
    """The system calls that can fail; a test passes a subclass."""

    def write(self, descriptor: int, data: bytes) -> int:
        """Write some of ``data`` and say how much."""
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        """Bring a file or folder to the disk."""
        os.fsync(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        """Give ``source`` the name of ``target``."""
        source.replace(target)


DISK = Disk()


def read_if_there(path: Path) -> str | None:
    """Read a file; None when it is not there."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def read_bytes(path: Path) -> bytes:
    """Read a file; nothing when it is not there."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def make_folder(path: Path, mode: int = 0o755, owner: tuple[int, int] | None = None) -> None:
    """Make a folder with its parents; mode and owner are set on the last one only, whatever the umask."""
    for parent in [*reversed(path.parents), path]:
        if not parent.is_dir():
            parent.mkdir(exist_ok=True)
            parent.chmod(0o755)
    if path.stat().st_mode & 0o7777 != mode:
        path.chmod(mode)
    if owner is not None and (path.stat().st_uid, path.stat().st_gid) != owner:
        os.chown(path, *owner)


def ensure_file(  # noqa: PLR0913 - each is a property of the file or its folder
    path: Path,
    text: str,
    *,
    mode: int = 0o644,
    owner: int = 0,
    folder_mode: int = 0o755,
    check: bool = False,
) -> bool:
    """Let a file have this text, mode and owner; whether that is a change. ``check`` only says so."""
    if read_if_there(path) == text:
        found = path.stat()
        if (found.st_mode & 0o7777, found.st_uid) == (mode, owner):
            return False
    if not check:
        make_folder(path.parent, folder_mode)
        write_atomic(path, text, mode, owner=owner)
    return True


def write_atomic(path: Path, text: str, mode: int = 0o644, disk: Disk = DISK, owner: int | None = None) -> None:
    """Replace a file by a new one with this text: temp, fsync, rename, fsync of the folder."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        _write_new(temporary, text.encode("utf-8"), disk)
        if owner is not None:
            os.chown(temporary, owner, -1)
        temporary.chmod(mode)
        disk.replace(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_folder(path.parent, disk)


def switch_link(link: Path, target: str, disk: Disk = DISK) -> None:
    """Let ``link`` point to ``target`` in one rename."""
    temporary = link.with_name(f".{link.name}.{os.getpid()}.new")
    with contextlib.suppress(FileNotFoundError):
        temporary.unlink()
    temporary.symlink_to(target)
    if link.is_dir() and not link.is_symlink():  # somebody has put a folder there: no rename replaces one
        link.rename(link.with_name(f"{link.name}.was-no-link"))
    try:
        disk.replace(temporary, link)
    except OSError:
        temporary.unlink()
        raise
    sync_folder(link.parent, disk)


def link_name(link: Path) -> str | None:
    """The last part of what a link points to; None when there is no such link."""
    try:
        return link.readlink().name
    except OSError:
        return None


def remove(path: Path, disk: Disk = DISK) -> bool:
    """Remove a file or link for good; False when it was not there."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync_folder(path.parent, disk)
    return True


def rename(source: Path, target: Path, disk: Disk = DISK) -> None:
    """Give a file another name in the same folder, for good."""
    disk.replace(source, target)
    sync_folder(target.parent, disk)


def append_record(path: Path, line: str, good_bytes: int | None = None, disk: Disk = DISK) -> None:
    """Append one record: one write, fsync. A torn tail beyond ``good_bytes`` is cut off first.

    A write that comes out short is taken back and an OSError: what cannot be journalled is not done.
    """
    data = line.encode("utf-8")
    fresh = not path.exists()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        if fresh:  # whatever the umask of whoever is the first
            os.fchmod(descriptor, 0o644)
        if good_bytes is not None and os.fstat(descriptor).st_size > good_bytes:
            os.ftruncate(descriptor, good_bytes)
        before = os.fstat(descriptor).st_size
        written = _write_once(descriptor, data, before, disk)
        if written != len(data):
            os.ftruncate(descriptor, before)
            raise OSError(f"{path}: only {written} of {len(data)} bytes were written")
        disk.fsync(descriptor)
    finally:
        os.close(descriptor)
    if fresh:
        sync_folder(path.parent, disk)


def append_line(path: Path, line: str) -> None:
    """Append a line that may be lost."""
    with path.open("a", encoding="utf-8") as stream:
        stream.write(line.rstrip("\n") + "\n")


def sync_folder(folder: Path, disk: Disk = DISK) -> None:
    """Bring a folder's names to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        disk.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def lease(path: Path, holder: str, tries: int = 20) -> Iterator[bool]:
    """Hold a lock for the length of a block; the block gets False when another process holds it.

    The file stays, with the last holder's word in it; the kernel lets go of the lock however a holder ends. It is tried
    for two seconds, because whoever asks if the lease is held holds it for a moment.
    """
    make_folder(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.fchmod(descriptor, 0o644)  # whatever the umask: whoever may read the state asks if it is held
        held = _try_lock(descriptor)
        for _try in range(0 if held else tries):
            time.sleep(0.1)
            held = _try_lock(descriptor)
            if held:
                break
        if held:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, holder.encode("utf-8"))
        yield held
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock on this file right now."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _write_once(descriptor: int, data: bytes, before: int, disk: Disk) -> int:
    try:
        return disk.write(descriptor, data)
    except OSError:
        os.ftruncate(descriptor, before)
        raise


def _write_new(path: Path, data: bytes, disk: Disk) -> None:
    """Write a file that nobody else can read yet."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        left = data
        while left:
            left = left[disk.write(descriptor, left) :]
        disk.fsync(descriptor)
    finally:
        os.close(descriptor)
