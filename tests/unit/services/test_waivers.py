# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Waivers: which are right, what they cover, and what is said of those that do nothing."""

from __future__ import annotations

from datetime import date

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import Finding, failing
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.waivers import (
    apply_waivers,
    for_host,
    read_waivers,
    unknown_services,
)

RIGHT = {"id": "FLAG_REMOVED", "service": "chat", "reason": "our build has it", "owner": "ada", "until": "2031-05-31"}
REMOVED = Finding("FLAG_REMOVED", "error", "chat --swap-space", "gone")
OTHER = Finding("FLAG_REMOVED", "error", "chat --task", "gone")


def read(*entries):
    waivers, problems = read_waivers([*entries])
    assert problems == []
    return waivers


def test_no_waivers_are_none():
    assert read_waivers(None) == ([], [])
    assert read_waivers([]) == ([], [])


@pytest.mark.parametrize(
    ("entry", "key", "words"),
    [
        ("FLAG_REMOVED", "[0]", "a text"),
        ({**RIGHT, "untill": "x"}, "[0].untill", "no such key"),
        ({**RIGHT, "reason": ""}, "[0].reason", "missing or empty"),
        ({**RIGHT, "owner": 7}, "[0].owner", "missing or empty"),
        ({key: value for key, value in RIGHT.items() if key != "until"}, "[0].until", "missing or empty"),
        ({**RIGHT, "until": "soon"}, "[0].until", "'soon'"),
        ({**RIGHT, "until": "2031-13-01"}, "[0].until", "'2031-13-01'"),
    ],
)
def test_a_bad_entry_is_named_and_counts_for_nothing(entry, key, words):
    waivers, (problem,) = read_waivers([entry])
    assert waivers == []
    assert (problem.service, problem.key) == ("vllm_waivers", key)
    assert words in problem.line()


@pytest.mark.parametrize("given", ["chat", {"id": "x"}, 3])
def test_what_is_no_list_is_said(given):
    waivers, (problem,) = read_waivers(given)
    assert waivers == []
    assert problem.line().startswith("vllm_waivers, (the whole): a ")


@pytest.mark.parametrize("until", ["2031-05-31", date(2031, 5, 31)])
def test_a_day_may_be_what_yaml_makes_of_it(until):
    assert read({**RIGHT, "until": until})[0].until == "2031-05-31"


def test_a_waiver_holds_on_its_last_day_and_not_after_it():
    judged, notes = apply_waivers("chat", [REMOVED, OTHER], read(RIGHT), "2031-05-31")
    assert [finding.waived_until for finding in judged] == ["2031-05-31"] * 2
    assert (failing(judged), notes) == ([], [])
    judged, (note,) = apply_waivers("chat", [REMOVED], read(RIGHT), "2031-06-01")
    assert failing(judged) == [REMOVED]
    assert (note.id, note.severity) == ("waiver_expired", "warning")
    assert "ada" in note.message and "2031-05-31" in note.message


def test_a_subject_narrows_it():
    judged, notes = apply_waivers("chat", [REMOVED, OTHER], read({**RIGHT, "subject": "--task"}), "2030-01-01")
    assert [finding.waived_until for finding in judged] == [None, "2031-05-31"]
    assert notes == []


def test_one_that_matches_nothing_is_said_and_one_of_another_service_does_nothing():
    judged, (note,) = apply_waivers("chat", [], read(RIGHT, {**RIGHT, "service": "embed"}), "2030-01-01")
    assert (judged, note.id, note.subject) == ([], "waiver_unmatched", "chat waiver of FLAG_REMOVED")
    (note,) = unknown_services(read(RIGHT, {**RIGHT, "service": "embed"}), ["chat"])
    assert (note.severity, note.subject) == ("info", "embed waiver of FLAG_REMOVED")


def test_the_host_gets_those_of_its_service():
    waivers = read(RIGHT, {**RIGHT, "id": "flag_not_in_image"}, {**RIGHT, "id": "FLAG_NOT_IN_IMAGE", "service": "x"})
    assert for_host("chat", waivers) == [
        {"id": "FLAG_REMOVED", "subject": "", "until": "2031-05-31"},
        {"id": "FLAG_NOT_IN_IMAGE", "subject": "", "until": "2031-05-31"},
    ]
