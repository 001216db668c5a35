# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A file that is to be audited, as text; what is none is named.

Private to the collection.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

MOST = 4 << 20


class Unreadable(Exception):
    """The file cannot be audited; the message names it, says why, and what is expected."""


def read_subject_text(path: Path) -> str:
    """The text of a compose file, a unit, a rule file, a dashboard, or a file with a command line."""
    expected = "expected: a compose file, a unit, a rule file, a dashboard or a command line"
    try:
        data = _bytes(path, expected)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}; {expected}, in a file that can be read") from None
    if len(data) > MOST:
        raise Unreadable(f"{path}: larger than {MOST >> 20} MiB; {expected}")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: no text, byte {error.start} is not UTF-8; {expected}") from None
    if "\0" in text:
        raise Unreadable(f"{path}: no text, it has a zero byte at {text.index(chr(0))}; {expected}")
    return text


def _bytes(path: Path, expected: str) -> bytes:
    """One byte more than what is taken, so that a file that grows or a device without end is no danger."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"{path}: not a file; {expected}")
        return stream.read(MOST + 1)
