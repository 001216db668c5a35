# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Secrets are taken out of an engine's notes, whatever its user put in their place."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.compile_cache import take_out_secrets
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.redact import Redactor

KEY = "planted 'key' 0815"
NOTES = "vllm/torch_compile_cache/3fbdd5227b/rank_0_0/backbone/cache_key_factors.json"


@pytest.fixture
def redactor():
    return Redactor({"VLLM_API_KEY": KEY})


def write(path, env):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"env": env, "config_hash": "0"}, indent=2))
    return path


@pytest.mark.parametrize("place", [NOTES, NOTES.replace("/backbone", "")])
def test_the_value_goes_and_the_rest_stays(tmp_path, redactor, place):
    path = write(tmp_path / place, {"VLLM_API_KEY": KEY, "VLLM_TARGET_DEVICE": "cuda"})
    path.chmod(0o640)
    assert take_out_secrets(tmp_path, redactor) == [path]
    assert json.loads(path.read_text())["env"] == {
        "VLLM_API_KEY": "[secret VLLM_API_KEY]",
        "VLLM_TARGET_DEVICE": "cuda",
    }
    assert path.stat().st_mode & 0o777 == 0o640
    assert take_out_secrets(tmp_path, redactor) == []


def test_notes_without_a_secret_are_left_alone(tmp_path, redactor):
    path = write(tmp_path / NOTES, {"VLLM_API_KEY": None})
    before = path.stat().st_mtime_ns
    assert take_out_secrets(tmp_path, redactor) == []
    assert path.stat().st_mtime_ns == before
    assert take_out_secrets(tmp_path / "nothing", redactor) == []


def test_a_link_is_not_followed_and_a_pipe_not_waited_for(tmp_path, redactor):
    elsewhere = write(tmp_path / "elsewhere", {"VLLM_API_KEY": KEY})
    link = tmp_path / NOTES
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    pipe = tmp_path / NOTES.replace("rank_0_0", "rank_1_0")
    pipe.parent.mkdir(parents=True)
    os.mkfifo(pipe)
    assert take_out_secrets(tmp_path, redactor) == []
    assert KEY in elsewhere.read_text()
