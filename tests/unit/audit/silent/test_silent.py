# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Services with nothing wrong for their release: the audit says nothing, save the information that it lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import one_line

HERE = Path(__file__).parent
LEAST = 24
THINGS = [thing for path in sorted(HERE.glob("*.yml")) for thing in yaml.safe_load(path.read_text("utf-8"))]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: thing["name"])
def test_nothing_is_wrong_and_nothing_is_said(thing: dict[str, Any]) -> None:
    report = audit_config(thing["subject"], str(thing["version"]), thing.get("previous_version"), name="here")
    told = set(thing.get("info", ()))
    said = [one_line(each) for each in report.findings if not (each.severity == "info" and each.id in told)]
    assert said == []


def test_there_are_enough_of_them_and_of_many_releases() -> None:
    assert len(THINGS) >= LEAST
    assert len({thing["version"] for thing in THINGS}) >= 12
    assert len({thing["name"] for thing in THINGS}) == len(THINGS)
