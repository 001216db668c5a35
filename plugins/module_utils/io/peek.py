# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Look into files and commands of any size and kind: bounded, never waiting for ever, never led astray. No decisions.

Private to the collection.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import threading
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, cast

_PIECE = 1 << 18
_MOST_LINKS = 40


class Ends:
    """The first and the last bytes of a stream, whatever its length."""

    def __init__(self, head: int, tail: int) -> None:
        self.head = b""
        self._room, self._tail_size = head, tail
        self._tail: deque[bytes] = deque()
        self._tail_bytes = 0
        self.left_out = 0

    def add(self, data: bytes) -> None:
        """Take the next piece."""
        if len(self.head) < self._room:
            taken = self._room - len(self.head)
            self.head += data[:taken]
            data = data[taken:]
        if data:
            self._tail.append(data)
            self._tail_bytes += len(data)
        while self._tail and self._tail_bytes - len(self._tail[0]) >= self._tail_size:
            gone = len(self._tail.popleft())
            self._tail_bytes -= gone
            self.left_out += gone

    def take(self, pieces: Iterable[bytes]) -> Ends:
        """Take all pieces."""
        for piece in pieces:
            self.add(piece)
        return self

    @property
    def tail(self) -> bytes:
        """The end; what of it follows the head at once belongs to the head."""
        joined = b"".join(self._tail)
        return joined[-self._tail_size :] if self.left_out or len(joined) > self._tail_size else joined

    @property
    def gone(self) -> int:
        """The bytes in between that were not kept."""
        return self.left_out + max(0, self._tail_bytes - len(self.tail))


def ends_of_file(path: Path, head: int, tail: int) -> Ends:
    """Head and tail of a regular file, without reading what is in between; OSError for anything else."""
    descriptor = open_regular(path)
    try:
        size = os.fstat(descriptor).st_size
        ends = Ends(head, tail)
        if size <= head + tail:
            return ends.take(_pieces(descriptor, head + tail))
        ends.take(_pieces(descriptor, head))
        os.lseek(descriptor, size - tail, os.SEEK_SET)
        ends.left_out = size - head - tail
        return ends.take(_pieces(descriptor, tail))
    finally:
        os.close(descriptor)


def ends_of_gzip(path: Path, head: int, tail: int) -> Ends:
    """The same of a compressed file: it is read to its end, but no more than the ends is kept.

    One that is torn gives what could be read.
    """
    descriptor = open_regular(path)
    try:
        return Ends(head, tail).take(_inflated(_pieces(descriptor)))
    finally:
        os.close(descriptor)


def ends_of_command(argv: Sequence[str], head: int, tail: int, timeout: float) -> Ends:
    """Head and tail of what a command prints; it is ended after ``timeout`` seconds."""
    with subprocess.Popen(  # pylint: disable=ansible-bad-function
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        timer = threading.Timer(timeout, process.kill)
        timer.start()
        try:
            stream = cast(IO[bytes], process.stdout)
            return Ends(head, tail).take(iter(lambda: stream.read(_PIECE), b""))
        finally:
            timer.cancel()


def read_small(path: Path, limit: int = 1 << 20) -> str:
    """The text of a regular file that is not longer than ``limit``; OSError else."""
    ends = ends_of_file(path, limit, 0)
    if ends.gone:
        raise OSError(errno.EFBIG, f"is longer than {limit:,} bytes", str(path))
    return (ends.head + ends.tail).decode("utf-8", "replace")


def open_regular(path: Path) -> int:
    """A descriptor of a regular file; OSError for a link, a pipe, a device: nothing waits, nothing leads away."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "is no regular file", str(path))
    return descriptor


def within(folder: Path, name: str, allowed: Path) -> Path:
    """The real place of a file that links may lead to; OSError when it leads out of ``allowed``."""
    real, top = Path(os.path.realpath(folder / name)), Path(os.path.realpath(allowed))
    if top not in real.parents:
        raise OSError(errno.EPERM, "leads out of its folder", str(folder / name))
    return real


def inside(root: str | Path, path: str) -> Path:
    """A path as a process sees it whose root is ``root``: no link in it leads out of there."""
    left = deque(PurePosixPath(path).parts[1:])
    done: list[str] = []
    links = 0
    while left:
        part = left.popleft()
        if part == "..":
            done = done[:-1]
            continue
        try:
            target = str(Path(root, *done, part).readlink())
        except OSError:
            done.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            raise OSError(errno.ELOOP, "too many links", path)
        steps = PurePosixPath(target).parts
        if target.startswith("/"):
            done, steps = [], steps[1:]
        left.extendleft(reversed(steps))
    return Path(root, *done)


def _pieces(descriptor: int, most: int | None = None) -> Iterator[bytes]:
    left = most
    while left is None or left > 0:
        piece = os.read(descriptor, _PIECE if left is None else min(_PIECE, left))
        if not piece:
            return
        left = None if left is None else left - len(piece)
        yield piece


def _inflated(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The content of a gzip file of one member or many, a piece at a time."""
    reader = zlib.decompressobj(wbits=31)
    for piece in pieces:
        data = piece
        while data:
            try:
                yield reader.decompress(data, _PIECE)
            except zlib.error:
                return
            data = reader.unconsumed_tail
            if reader.eof:
                data = reader.unused_data
                reader = zlib.decompressobj(wbits=31)
