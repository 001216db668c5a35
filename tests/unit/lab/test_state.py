# SPDX-License-Identifier: Apache-2.0
"""The lab's folder: what is wiped is what the lab put there."""

from __future__ import annotations

import pytest

from tests.lab import state


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUHOSTS_LAB_HOME", str(tmp_path / "lab"))
    return tmp_path / "lab"


def test_a_wiped_folder_is_gone_when_it_was_the_labs_alone(home):
    state.folder("ssh")
    (home / "lock").touch()
    state.wipe()
    assert not home.exists()


def test_what_somebody_else_keeps_there_stays(home):
    state.folder("pki")
    (home / "letters").mkdir()
    (home / "notes.txt").touch()
    state.wipe()
    assert sorted(path.name for path in home.iterdir()) == ["letters", "notes.txt"]


def test_one_command_at_a_time_and_the_lock_is_given_back(home):
    with state.only_one():
        assert (home / "lock").exists()
    with state.only_one():
        pass
