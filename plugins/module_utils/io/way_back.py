# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What this host lacks of a release that it may have to run again. No network, no decisions.

Private to the collection.
"""

from __future__ import annotations

from pathlib import Path

from ..release.paths import CACHE_ROOT, Paths
from ..release.record import RecordError, ReleaseRecord
from . import containers, models
from .commands import Runner, run
from .releases import read_record

_RUN_FILES = ("run", "args", "entry")


def whole_record(paths: Paths, name: str | None) -> ReleaseRecord | None:
    """The record of a release as it was staged; None when it is gone or was edited."""
    try:
        return read_record(paths, name) if name is not None else None
    except (RecordError, ValueError):
        return None


def missing_of(paths: Paths, name: str, *, runner: Runner = run) -> tuple[str, ...]:
    """Everything that is missing of a release here: record, files, image, weights."""
    record = whole_record(paths, name)
    if record is None:
        return ("its record is missing or was edited",)
    problems = [f"its file {each} is missing" for each in _RUN_FILES if not (paths.release(name) / each).is_file()]
    return (*problems, *_missing_image(record, runner), *_missing_model(paths, record))


def _missing_image(record: ReleaseRecord, runner: Runner) -> tuple[str, ...]:
    try:
        here = containers.image_present(record.host.image_id, runner=runner)
    except containers.DockerError as error:
        return (f"Docker does not answer: {error}",)
    return () if here else (f"its image {record.host.image_id} is not on this host",)


def _missing_model(paths: Paths, record: ReleaseRecord) -> tuple[str, ...]:
    model = record.content["model"]
    if model["kind"] == "path":
        fault = models.look_at_path(model["name"])
        return (fault,) if fault else ()
    cache = str(Path(paths.root) / CACHE_ROOT)
    if models.proven(cache, model["name"], model["revision"]) is None:
        return (f"its model {model['name']} at {model['revision']} is not complete on this host",)
    return ()
