# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The journal of a service on the disk. No decisions.

Private to the collection.
"""

from __future__ import annotations

from ..release.journal import Entry, Journal, format_entry, parse_journal
from ..release.paths import Paths
from .files import DISK, Disk, append_record, read_bytes
from .readers import make_state


def read_journal(paths: Paths) -> Journal:
    """Read all records; JournalError when one in the middle is torn."""
    return parse_journal(read_bytes(paths.journal))


def append_entry(paths: Paths, entry: Entry, disk: Disk = DISK) -> None:
    """Write one record for good, after cutting off a torn one; OSError when it did not get to the disk."""
    make_state(paths)
    append_record(paths.journal, format_entry(entry), read_journal(paths).good_bytes, disk)
