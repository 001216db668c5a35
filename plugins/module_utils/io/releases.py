# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The release folders of a service on the disk. No decisions.

Private to the collection.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping

from ..release.files import GATE_NAME, RECORD_NAME, mode_of
from ..release.gate import Gate, gate_from_dict
from ..release.paths import Paths
from ..release.record import ReleaseRecord, record_from_dict
from .files import make_folder, read_if_there, sync_folder, write_atomic
from .readers import make_state


def read_record(paths: Paths, release_id: str) -> ReleaseRecord | None:
    """The record of a release; None when it is not staged; RecordError when it is not what was staged."""
    text = read_if_there(paths.release(release_id) / RECORD_NAME)
    return None if text is None else record_from_dict(json.loads(text))


def read_gate(paths: Paths, release_id: str) -> Gate:
    """The limits of a start of this release; the defaults when there is no file."""
    return gate_from_dict(json.loads(read_if_there(paths.release(release_id) / GATE_NAME) or "{}"))


def read_files(paths: Paths, release_id: str, names: list[str]) -> dict[str, str]:
    """The texts of the files of a release that are there."""
    texts = {name: read_if_there(paths.release(release_id) / name) for name in names}
    return {name: text for name, text in texts.items() if text is not None}


def write_new(paths: Paths, release_id: str, files: Mapping[str, str]) -> None:
    """Make a release folder that was not there: all its files or none."""
    make_state(paths)
    make_folder(paths.releases)
    temporary = paths.releases / f".{release_id}.{os.getpid()}.new"
    shutil.rmtree(temporary, ignore_errors=True)
    make_folder(temporary)
    try:
        for name, text in files.items():
            write_atomic(temporary / name, text, mode_of(name))
        temporary.rename(paths.release(release_id))
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    sync_folder(paths.releases)


def rewrite(paths: Paths, release_id: str, files: Mapping[str, str]) -> None:
    """Replace files of a release folder one by one, in the order given."""
    for name, text in files.items():
        write_atomic(paths.release(release_id) / name, text, mode_of(name))
