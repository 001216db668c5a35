# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Part of ``preflighted``: every argument is one that this very image takes, by its own help text.

Private to the collection.
"""

from __future__ import annotations

from typing import Any

from ..audit.help import read_help
from ..audit.image_check import compare_help
from ..findings import INFO, Finding, failing, one_line
from ..io.image_options import NoHelp, image_help
from ..release.record import ReleaseRecord
from ..versions import parse_version
from .steps import Context, StepFailed
from .waived import waived


def check_options(context: Context, record: ReleaseRecord) -> list[dict[str, Any]]:
    """StepFailed for an argument that the image refuses; what is only worth a word is said, and given back."""
    try:
        listed = read_help(image_help(context.paths, record.host.image_id, runner=context.runner))
    except (NoHelp, OSError) as error:
        found = [_unread(record, error)]
    else:
        version = parse_version(str(record.content["version"]))
        found = compare_help(list(record.content["args"])[1:], listed, version, record.service)
    found = waived(context, found)
    errors = failing(found)
    if errors:
        raise StepFailed(
            "; ".join(_sentence(each) for each in errors), {"findings": [each.to_dict() for each in found]}
        )
    said = [finding for finding in found if finding.severity != INFO]
    for finding in said:
        context.say(one_line(finding))
    return [finding.to_dict() for finding in said]


def _sentence(finding: Finding) -> str:
    return f"{finding.message}; {finding.remedy}"


def _unread(record: ReleaseRecord, error: Exception) -> Finding:
    return Finding(
        "image_options_unread",
        "warning",
        record.service,
        f"the options of the image could not be read, so the arguments were checked against the table only: {error}",
        remedy="nothing, if the service starts; else see what the image says: docker run --rm --network none "
        f"--entrypoint vllm {record.host.image_id[:19]} serve --help=all",
    )
