# SPDX-License-Identifier: Apache-2.0
"""What runbooks list is what the code has."""

from __future__ import annotations

import re

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.ending import ENDINGS
from tests.repo.repository import REPO

RUNBOOKS = REPO / "docs" / "runbooks"


def test_every_ending_of_a_start_has_its_row() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|", (RUNBOOKS / "endings.md").read_text(encoding="utf-8"), re.M)
    assert sorted(rows) == sorted(ENDINGS)


def test_every_runbook_is_named_by_the_readme() -> None:
    linked = set(re.findall(r"docs/runbooks/([a-z-]+\.md)", (REPO / "README.md").read_text(encoding="utf-8")))
    assert linked == {path.name for path in RUNBOOKS.glob("*.md")}
