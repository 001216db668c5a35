"""The runbook states how much of the evidence is kept: the numbers of the one place that decides."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release import retention

ENDINGS = Path(__file__).resolve().parents[2] / "docs" / "runbooks" / "endings.md"


def test_the_runbook_states_the_limits_that_hold():
    text = ENDINGS.read_text(encoding="utf-8")
    head, tail = retention.HEAD_BYTES >> 20, retention.TAIL_BYTES >> 20
    assert f"| up to {head} MiB. Of a longer log the first {head} MiB and the last {tail} MiB," in text
    assert f"| past {retention.COMPRESS_FROM >> 20} MiB;" in text
    assert f"| starts of a service | {retention.KEPT_STARTS} |" in text
    assert f"| evidence of a service | {retention.KEPT_BYTES >> 20} MiB," in text
