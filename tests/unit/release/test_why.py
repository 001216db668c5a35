# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A diagnosis in a few lines."""

from __future__ import annotations

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.why import why_lines


def finding(**changes):
    fields = {"id": "port_in_use", "severity": "error", "subject": "chat start 3", "message": "the address is taken"}
    return Finding(**{**fields, **changes})


def test_what_it_was_what_says_so_what_to_do_and_where_there_is_more():
    said = why_lines(
        finding(
            observed=[" OSError: [Errno 98] Address already in use "],
            remedy="give it another port",
            source="docs/runbooks/diagnoses/port_in_use.md",
        )
    )
    assert said == [
        "diagnosis: the address is taken (port_in_use)",
        "  OSError: [Errno 98] Address already in use",
        "remedy: give it another port",
        "runbook: docs/runbooks/diagnoses/port_in_use.md",
    ]


def test_it_stays_short():
    said = why_lines(finding(observed=["x" * 1000] * 20))
    assert len(said) == 6 and max(map(len, said)) <= 242 and said[1].endswith("x ...")


def test_what_is_not_there_is_not_said():
    assert why_lines(finding()) == ["diagnosis: the address is taken (port_in_use)"]
