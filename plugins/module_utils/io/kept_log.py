# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The log of a start on the disk: written as it comes, bounded, compressed past a size, and read back. No decisions.

Private to the collection.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, BinaryIO, Callable, cast

from ..release.bounded import HeadTail, gap_line
from ..release.retention import COMPRESS_FROM, HEAD_BYTES, TAIL_BYTES
from .files import DISK, Disk, sync_folder

PLAIN = "log"
COMPRESSED = "log.gz"
# What the gate has written of a start that is on its way: all that there is when the gate is killed.
PART = "log.part"
NEW = "log.new"

# Of so much of its end a log that filled the disk gives back the half, so that how its start ended can be noted.
_ROOM = 128 << 10
_BUFFER = 256 << 10
_LEVEL = 4  # nearly as small as 6, in half the time


class LogWriter:
    """Writes one log into the folder of its start, as ``name`` until it is complete.

    The beginning goes to the disk as it comes; only the end is held. ``clean`` is applied to what is kept. A disk that
    refuses is no exception here: ``error`` says it, and what could be written stays.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        clean: Callable[[str], str],
        *,
        disk: Disk = DISK,
        limits: tuple[int, int] = (HEAD_BYTES, TAIL_BYTES),
    ) -> None:
        self._folder = folder
        self._path = folder / name
        self._clean = clean
        self._disk = disk
        self._lines = HeadTail(self._write, *limits)
        self._buffer = io.BytesIO()
        self._file: BinaryIO | None = None
        self._lost = 0
        self.error = ""

    @property
    def lines(self) -> int:
        """How many lines came."""
        return self._lines.lines

    @property
    def left_out(self) -> int:
        """How many of them are not kept."""
        return self._lines.left_out + self._lost

    def add(self, line: str) -> None:
        """Take the next line."""
        self._lines.add(line)

    def adopt(self, lines: Iterable[str], mark: str) -> None:
        """Begin with lines that were kept before, and a mark behind them; of those to come the last are kept."""
        for line in chain(lines, [mark]):
            self._put(line)
        self._lines.end_head()

    def flush(self) -> None:
        """Bring what there is to the file, where others can read it and a kill cannot take it."""
        data, self._buffer = self._buffer.getvalue(), io.BytesIO()
        if self.error or not data:
            return
        try:
            if self._file is None:
                self._file = _open_new(self._path)
            while data:
                data = data[self._disk.write(self._file.fileno(), data) :]
        except OSError as error:
            self._lost += data.count(b"\n")
            self._refused(error)

    def close(self) -> None:
        """Write the end, and give the log its name; compressed where it is large."""
        if self._lines.left_out:
            self._put(gap_line(self._lines.left_out))
        for line in self._lines.tail():
            self._write(line)
        self.flush()
        if self._file is None:
            return
        if self.error:
            with contextlib.suppress(OSError):
                self._disk.write(self._file.fileno(), gap_line(self.left_out).encode("utf-8") + b"\n")
        try:
            self._disk.fsync(self._file.fileno())
        except OSError as error:
            self._refused(error)
        self._file.close()
        self._file = None
        try:
            self._settle()
        except OSError as error:
            self.error = self.error or (error.strerror or str(error))

    def _write(self, line: str) -> None:
        if self.error:
            self._lost += 1
        else:
            self._put(self._clean(line))

    def _put(self, line: str) -> None:
        if not self.error:
            self._buffer.write(line.encode("utf-8", "replace") + b"\n")
        if self._buffer.tell() >= _BUFFER:
            self.flush()

    def _refused(self, error: OSError) -> None:
        self.error = error.strerror or str(error)
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._lost += _give_back(self._file)

    def _settle(self) -> None:
        target = self._folder / PLAIN
        if self._path.stat().st_size >= COMPRESS_FROM and not self.error:
            target = self._folder / COMPRESSED
            packed = self._folder / f"{NEW}.gz"
            try:
                _compress(self._path, packed, self._disk)
                self._disk.replace(packed, target)
                self._path.unlink()
            except OSError:  # no room for both: it stays as it is
                packed.unlink(missing_ok=True)
                target = self._folder / PLAIN
        if target.name == PLAIN:
            self._disk.replace(self._path, target)
        for name in {PLAIN, COMPRESSED, PART, NEW} - {target.name}:
            (self._folder / name).unlink(missing_ok=True)
        sync_folder(self._folder, self._disk)


def find(folder: Path) -> Path | None:
    """The file with the log of a start; one that a gate was still writing where there is no other."""
    return next((folder / name for name in (COMPRESSED, PLAIN, PART) if (folder / name).is_file()), None)


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a kept log without their ends. One that is damaged is read as far as it goes, and says so."""
    with cast(IO[bytes], gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")) as stream:
        while True:
            try:
                line = stream.readline(_BUFFER)
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                yield f"[... the rest of {path.name} cannot be read: {error} ...]"
                return
            if not line:
                return
            yield line.decode("utf-8", "replace").rstrip("\n")


def size_of(folder: Path) -> int:
    """The bytes of a start's evidence."""
    sizes = 0
    for path in folder.iterdir() if folder.is_dir() else ():
        with contextlib.suppress(OSError):
            sizes += path.stat().st_size
    return sizes


def _open_new(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    os.fchmod(descriptor, 0o644)  # the folder above decides who reads, whatever the umask
    return os.fdopen(descriptor, "r+b", buffering=0)


def _give_back(file: BinaryIO) -> int:
    """Cut a file at the end of a line, some way before its end; how many lines that takes."""
    size = os.fstat(file.fileno()).st_size
    place = max(0, size - _ROOM)
    file.seek(place)
    data = file.read(size - place)
    kept = data.rfind(b"\n", 0, len(data) // 2) + 1
    file.truncate(place + kept)
    file.seek(place + kept)
    return data.count(b"\n", kept)


def _compress(source: Path, target: Path, disk: Disk) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
    with os.fdopen(descriptor, "wb") as raw:
        os.fchmod(descriptor, 0o644)
        with source.open("rb") as stream, gzip.GzipFile("", "wb", _LEVEL, raw, mtime=0) as packed:
            while block := stream.read(_BUFFER):
                packed.write(block)
        raw.flush()
        disk.fsync(descriptor)
