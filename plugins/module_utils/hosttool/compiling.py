# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Compile this program for the Python of this host: its verbs begin in a fifth of the time, and some of them are
downtime.

Python caches nothing that it imports from a zip. So a second zip lies beside the program, named after it and after the
Python that it is for: the sources and, beside each, its bytecode. Another Python does not find it, and one that does
not know this bytecode after all takes the source next to it. Without that zip the program is as good, only slower.

Private to the collection.
"""

from __future__ import annotations

import importlib.util
import io
import marshal
import os
import sys
import zipfile
from pathlib import Path

# Bytecode that is not checked against its source: both come out of the same program, in one piece.
_UNCHECKED = (1).to_bytes(4, "little")


def compiled_path(program: Path) -> Path:
    """Where the compiled form of a program lies; ``__main__`` of the program looks there."""
    return program.with_name(f"{program.name}.{sys.implementation.cache_tag}")


def compile_program(program: Path) -> Path:
    """Write the compiled form, complete or not at all; where it is."""
    target = compiled_path(program)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        with temporary.open("wb") as stream:
            stream.write(_compiled(program))
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o644)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def _compiled(program: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(program) as source, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as made:
        for entry in source.infolist():
            data = source.read(entry)
            made.writestr(entry, data)
            if entry.filename.endswith(".py"):
                made.writestr(
                    zipfile.ZipInfo(f"{entry.filename}c", entry.date_time),
                    _bytecode(data, f"{program}/{entry.filename}"),
                )
    return buffer.getvalue()


def _bytecode(source: bytes, name: str) -> bytes:
    code = compile(source, name, "exec", dont_inherit=True)
    return b"".join((importlib.util.MAGIC_NUMBER, _UNCHECKED, importlib.util.source_hash(source), marshal.dumps(code)))
