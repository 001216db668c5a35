# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Who may read the state: one folder decides, whatever umask its files were made with."""

from __future__ import annotations

import os
import stat

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.service_args import readable_paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import readers
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import is_locked, lease
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.journals import append_entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.journal import DONE, Entry
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths


@pytest.fixture
def paths(tmp_path):
    return Paths("chat", str(tmp_path))


@pytest.fixture(params=[0o022, 0o077])
def umask(request):
    """Work under a umask."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
def test_the_state_is_root_s_until_somebody_gives_it_away_and_then_stays_given(paths):
    append_entry(paths, Entry("t", "r1", "stop", "staged", DONE, "rel-a"))
    assert (mode(paths.state.parent), mode(paths.state), mode(paths.journal)) == (0o750, 0o755, 0o644)
    paths.state.parent.chmod(0o755)
    append_entry(paths, Entry("t", "r1", "stop", "preflighted", DONE, "rel-a"))
    assert mode(paths.state.parent) == 0o755


@pytest.mark.usefixtures("umask")
def test_whoever_may_read_may_ask_if_a_lease_is_held(paths):
    with lease(paths.lease, "me") as held:
        assert held and mode(paths.lease) == 0o644
        assert is_locked(paths.lease)


def test_where_nothing_is_there_is_nothing_to_forbid(paths):
    assert readers.may_read(paths.root)


@pytest.mark.parametrize(
    ("group", "told"),
    [
        (None, "is for root alone. Next: use sudo, or name a group in vllm_status_group"),
        ("ops", "usermod -aG ops USER"),
    ],
)
def test_who_may_not_is_told_who_may_and_how(paths, monkeypatch, group, told):
    monkeypatch.setenv("VLLM_HOST_ROOT", paths.root)
    service_args = "ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.service_args"
    monkeypatch.setattr(f"{service_args}.may_read", lambda root: False)
    monkeypatch.setattr(f"{service_args}.reading_group", lambda root: group)
    with pytest.raises(ToolError, match="chat: ") as caught:
        readable_paths("chat")
    assert told in str(caught.value)


def test_the_group_is_the_folder_s(paths):
    readers.make_state(paths)
    gid = paths.state.parent.stat().st_gid
    assert (readers.reading_group(paths.root) is None) == (gid == 0)
