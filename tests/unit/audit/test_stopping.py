# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Time spans as systemd reads them, and stop times that are shorter than the drain."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.stopping import time_span
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.subject import Container, Subject


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


@pytest.mark.parametrize(
    ("runner", "seconds", "part"),
    [
        ("compose", 30.0, "stop_grace_period"),
        ("docker run", 30.0, "--stop-timeout"),
        ("compose", 90.0, None),
        ("docker run", -1.0, None),
        ("compose", None, None),
        ("docker run", None, None),
        ("gpuhosts", None, None),
    ],
)
def test_a_container_is_judged_where_it_says_a_stop_time(runner: str, seconds: float | None, part: str | None) -> None:
    subject = Subject(
        kind="map",
        name="chat",
        words=("m", "--shutdown-timeout", "60"),
        container=Container(runner=runner, stop_seconds=seconds),
    )
    found = [each.subject for each in audit_config(subject, "0.26.0").findings if each.id == "STOP_TIMEOUT_TOO_SHORT"]
    assert found == ([f"chat {part}"] if part else [])
