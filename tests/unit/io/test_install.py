"""A file is put there once; mode, owner and text are all part of being as asked."""

from __future__ import annotations

import os

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.install import ensure_file

ME = (os.getuid(), os.getgid())
ASKED = {"mode": 0o600, "owner": ME, "folder_mode": 0o700}


def test_the_second_time_nothing_changes(tmp_path):
    path = tmp_path / "deep" / "secrets"
    assert ensure_file(path, "A='1'\n", **ASKED)
    assert path.read_text() == "A='1'\n"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not ensure_file(path, "A='1'\n", **ASKED)


def test_check_says_it_and_does_nothing(tmp_path):
    path = tmp_path / "deep" / "secrets"
    assert ensure_file(path, "", check=True, **ASKED)
    assert not path.parent.exists()


@pytest.mark.parametrize("spoil", ["mode", "text", "folder"])
def test_what_was_spoiled_is_put_right(tmp_path, spoil):
    path = tmp_path / "deep" / "secrets"
    ensure_file(path, "text", **ASKED)
    if spoil == "mode":
        path.chmod(0o644)
    elif spoil == "text":
        path.write_text("other")
    else:
        path.parent.chmod(0o755)
    assert ensure_file(path, "text", **ASKED)
    assert (path.read_text(), path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == ("text", 0o600, 0o700)
