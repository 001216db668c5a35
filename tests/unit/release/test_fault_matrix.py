# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The fault matrix of the docs is what the machine does, and no move of the state table is without a row."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import states

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/runbooks/faults.md").read_text(encoding="utf-8")
TITLES = {"first_start": "First start", "change": "Upgrade", "rotate": "Rotation", "remove": "Removal"}


def test_the_page_is_what_the_machine_does():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/generate_faults.py"), "--check"], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", states.PATHS)
def test_no_move_is_without_a_row(kind):
    title = f"### {TITLES.get(kind, kind.capitalize())}\n"
    part = PAGE.partition(title)[2].partition("\n### ")[0]
    rows = [line.split(" | ") for line in part.splitlines() if " → " in line]
    moves = [row[0].lstrip("| ").replace(" ", "_").replace("_→_", " → ") for row in rows]
    assert moves == [f"{state} → {after}" for state, after in states.legal_moves(kind)]
    assert all(len(row) == 5 and all(cell.strip(" |") for cell in row) for row in rows)


def test_what_the_table_says_of_the_heart_of_it():
    """Literals: a power cut takes an upgrade back that soaks, and a rollback goes on."""
    upgrade = PAGE.partition("### Upgrade\n")[2].partition("\n### ")[0]
    soak = next(line for line in upgrade.splitlines() if line.startswith("| verifying → soaking |"))
    assert soak.endswith("| rolling back, then rolled back | rolling back, then rolled back |")
    assert "| goes on by itself: soaking, then committed |" in soak
    drain = next(line for line in upgrade.splitlines() if line.startswith("| preflighted → draining |"))
    assert drain.endswith("| aborted | aborted |")
    back = PAGE.partition("### Rollback\n")[2].partition("\n### ")[0]
    start = next(line for line in back.splitlines() if line.startswith("| switched → starting |"))
    assert start.endswith("| starting, then committed | starting, then committed |")
    failed = next(line for line in back.splitlines() if line.startswith("| starting → rollback failed |"))
    assert "rollback failed |" in failed
