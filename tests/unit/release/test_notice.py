# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A notice never has more bytes than it may, whatever a reason holds."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.notice import notice_text


@pytest.mark.parametrize("text", ["x" * 99999, "\u00e9\u20ac\U0001f600" * 30000, '"\\\n' * 30000, "short"])
def test_what_is_too_long_is_cut_and_stays_json(text):
    told = notice_text({"event": "rolled_back", "release": None, "reason": text, "next": "y" * 20000})
    assert len(told.encode()) <= 16384
    read = json.loads(told)
    assert read["event"] == "rolled_back" and read["release"] is None
    assert text.startswith(read["reason"].rstrip("\u2026")) and len(read["reason"]) >= min(len(text), 64)
