# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Time spans as systemd reads them."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.stopping import time_span


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("2min 30s", 150.0),
        ("1h", 3600.0),
        ("500ms", 0.5),
        ("infinity", float("inf")),
        ("0", float("inf")),
        ("", None),
        ("soon", None),
        ("5 parsecs", None),
    ],
)
def test_a_time_span_is_seconds(text: str, seconds: float | None) -> None:
    assert time_span(text) == seconds
