# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The facts are what released sources say: read again by syntax tree, from archives of the package index."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from derive_facts import KINDS, derive, differences, facts, unmarked
from derived.archive import Archive
from derived.merge import Merge
from derived.options import deprecated
from fetch_sdist import fetch

CACHE = ROOT / ".build/sdists"
# What the facts say on purpose otherwise than what is derived: (release, line) and why. Empty: they agree.
REVIEWED: dict[tuple[str, str], str] = {}


@pytest.fixture(scope="module")
def table():
    return facts()


@pytest.mark.parametrize("release", ["0.8.5", "0.11.0", "0.19.1", "0.33.0"])
def test_options_variables_and_metrics_are_those_of_the_source(table, release):
    found = derive(fetch(release, CACHE))
    assert len(found["options"]) > 130
    assert len(found["variables"]) > 90
    assert len(found["metrics"]) > 30
    lines = [line for line in differences(found, table, release) if (release, line) not in REVIEWED]
    assert lines == []


@pytest.mark.parametrize("release", ["0.8.5", "0.11.0", "0.19.1", "0.33.0"])
def test_what_a_source_calls_deprecated_is_so_in_the_facts(table, release):
    said = deprecated(Archive(fetch(release, CACHE)))
    assert said
    assert unmarked(said, table, release) == set()


def forget(fact, release):
    """Take what came with the newest release out of a fact; say whether anything is left of it."""
    if fact["rows"][-1].get("since") == release:
        fact["rows"].pop()
    if fact["rows"] and fact["rows"][-1].get("until") == release:
        del fact["rows"][-1]["until"]
    for history in (fact.get("defaults", {}), fact.get("choices", {})):
        history.pop(release, None)
    return bool(fact["rows"])


def test_the_next_release_comes_in_as_the_last_one_did(table):
    table = copy.deepcopy(table)
    table["options"]["releases"].remove("0.33.0")
    for kind in KINDS:
        table[kind][kind] = {name: fact for name, fact in table[kind][kind].items() if forget(fact, "0.33.0")}
    found = derive(fetch("0.33.0", CACHE))
    merge = Merge(table, "0.33.0")
    for kind in KINDS:
        merge.add(kind, found[kind])
    assert list(differences(found, table, "0.33.0")) == []
    now = facts()
    for kind in KINDS:
        for name, fact in now[kind][kind].items():
            merged = table[kind][kind][name]
            assert [fact[key] for key in ("rows", "defaults") if key in fact] == [
                merged[key] for key in ("rows", "defaults") if key in fact
            ], name
