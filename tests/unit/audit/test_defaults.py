# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What an upgrade changes by itself for a service that leaves it unset, and for nobody else."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.default_changes import FLAGS, VARIABLES
from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.judge import audit_config
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import history
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.releases import RELEASES
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version

CHANGED = {"DEFAULT_CHANGED", "ENV_DEFAULT_CHANGED"}
EMPTY = {"args": [], "env": {}}

# The reviewed list: what a service without options and variables gets on the way from one release to the next.
BY_PAIR = {
    ("0.7.3", "0.8.0"): {"--generation-config", "--seed", "VLLM_USE_V1"},
    ("0.10.1.1", "0.10.2"): {"--prefix-caching-hash-algo"},
    ("0.11.2", "0.12.0"): {"--seed"},
    ("0.13.0", "0.14.0"): {"--async-scheduling"},
    ("0.17.1", "0.18.0"): {"--disable-cascade-attn"},
    ("0.19.1", "0.20.0"): {"--gpu-memory-utilization", "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"},
    ("0.20.2", "0.21.0"): {"VLLM_USE_FLASHINFER_SAMPLER"},
    ("0.23.0", "0.24.0"): {"VLLM_ENFORCE_STRICT_TOOL_CALLING"},
    ("0.31.0", "0.32.0"): {"--allowed-origins"},
}


def _changed(given: dict[str, Any], new: str, old: str) -> dict[str, str | None]:
    found = audit_config(given, new, old).findings
    return {each.subject.split()[-1]: each.since for each in found if each.id in CHANGED}


def test_every_pair_of_neighbours_is_reviewed() -> None:
    found = {}
    for old, new in zip(RELEASES, RELEASES[1:]):
        names = set(_changed(EMPTY, str(new), str(old)))
        if names:
            found[(str(old), str(new))] = names
    assert found == BY_PAIR


@pytest.mark.parametrize(
    ("old", "new", "args", "env", "names"),
    [
        ("0.10.2", "0.11.0", [], {}, set()),
        ("0.10.2", "0.11.0", ["--tensor-parallel-size", "2"], {}, {"VLLM_ALLREDUCE_USE_SYMM_MEM"}),
        ("0.11.2", "0.12.0", ["--seed", "7"], {}, set()),
        ("0.13.0", "0.14.0", ["--no-async-scheduling"], {}, set()),
        ("0.14.1", "0.15.0", ["--data-parallel-size", "4"], {}, {"--api-server-count"}),
        ("0.14.1", "0.15.0", ["--data-parallel-size", "4", "--api-server-count", "1"], {}, set()),
        ("0.16.0", "0.17.0", ["--kv-transfer-config", '{"kv_connector": "NixlConnector"}'], {}, {"kv_load"}),
        ("0.16.0", "0.17.0", ["--kv-transfer-config", '{"kv_load_failure_policy": "fail"}'], {}, set()),
        ("0.19.1", "0.20.0", ["--gpu-memory-utilization", "0.85", "--enforce-eager"], {}, set()),
        ("0.19.1", "0.20.0", [], {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}, {"--gpu-memory-utilization"}),
        ("0.27.1", "0.28.0", [], {}, set()),
        ("0.31.0", "0.32.0", ["--allowed-origins", '["https://chat.example.org"]'], {}, set()),
        ("0.32.0", "0.33.0", [], {}, set()),
        ("0.26.0", "0.26.0", [], {}, set()),
        # A default that went and came back is none that changed.
        ("0.7.3", "0.12.0", ["--generation-config", "vllm"], {"VLLM_USE_V1": "1"}, {"--prefix-caching-hash-algo"}),
    ],
)
def test_only_what_is_left_unset_and_reached(
    old: str, new: str, args: list[str], env: dict[str, str], names: set[str]
) -> None:
    found = _changed({"args": args, "env": env}, new, old)
    assert len(found) == len(names), found
    assert all(any(name in each for each in found) for name in names)


def test_large_gpus_batch_more_since_0_28() -> None:
    given = {**EMPTY, "host": {"gpu": "NVIDIA B200"}}
    assert _changed(given, "0.28.0", "0.27.1") == {"--max-num-batched-tokens": "0.28.0"}
    assert _changed({**EMPTY, "host": {"gpu": "NVIDIA H200"}}, "0.28.0", "0.27.1") == {}


def test_the_way_back_names_the_release_that_made_the_difference() -> None:
    assert _changed(EMPTY, "0.19.1", "0.20.2") == {
        "--gpu-memory-utilization": "0.20.0",
        "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0.20.0",
    }
    found = audit_config({"args": []}, "0.11.2", "0.12.0").findings
    seed = next(each for each in found if each.id == "DEFAULT_CHANGED")
    assert (seed.expected, seed.observed, seed.since) == ("0", "None", "0.12.0")
    assert seed.remedy == "to keep what 0.12.0 did, write --seed 0"


def test_no_default_is_judged_without_a_version_before() -> None:
    assert not CHANGED & {each.id for each in audit_config(EMPTY, "0.20.0").findings}


def test_what_ran_before_is_not_what_is_written_now() -> None:
    given = {"from_args": ["--gpu-memory-utilization", "0.9"], "args": []}
    assert "--gpu-memory-utilization" in _changed(given, "0.20.0", "0.19.1")


def test_new_caps_on_requests_are_told_as_information() -> None:
    found = [each for each in audit_config(EMPTY, "0.29.0", "0.27.1").findings if each.id == "request_limit_added"]
    assert [(each.subject.split()[-1], each.severity, each.since) for each in found] == [
        ("VLLM_MAX_STOP_STRINGS", "info", "0.28.0"),
        ("VLLM_MAX_MEDIA_DOWNLOAD_SIZE_MB", "info", "0.29.0"),
    ]
    quiet = {"args": [], "env": {"VLLM_MAX_STOP_STRINGS": "16"}}
    assert "request_limit_added" not in {each.id for each in audit_config(quiet, "0.28.0", "0.27.1").findings}


@pytest.mark.parametrize("change", FLAGS + VARIABLES, ids=lambda change: f"{change.name} {change.since}")
def test_every_reviewed_change_is_of_a_release_that_has_it(change: Any) -> None:
    since = parse_version(change.since)
    assert since in RELEASES
    name = change.name.partition(".")[0]
    known = history.flag(name) if name.startswith("--") else history.variable(name)
    assert known is not None
    assert known.present(since)


def test_a_literal_of_the_list_is_the_one_of_the_tables() -> None:
    """Where the tables have numbers or switches on both sides, the list says the same."""
    plain = 0
    for change in FLAGS + VARIABLES:
        known = history.flag(change.name) if change.name.startswith("--") else history.variable(change.name)
        since = parse_version(change.since)
        sides = [known.default(RELEASES[RELEASES.index(since) + step]) for step in (-1, 0)] if known else []
        if sides and all(isinstance(side.value, (int, float)) and not side.dynamic for side in sides):
            said = [float({"false": "0", "true": "1"}.get(text, text)) for text in (change.old, change.new)]
            assert said == [float(side.value) for side in sides], change.name
            plain += 1
    assert plain >= 12


def test_what_keeps_the_old_default_is_a_form_that_the_release_takes() -> None:
    tried = 0
    for before, after in zip(RELEASES[:-1], RELEASES[1:]):
        for finding in audit_config(EMPTY, str(after), str(before)).findings:
            head, _said, words = (finding.remedy or "").partition(", write --")
            if not words or not head.startswith("to keep"):
                continue
            tried += 1
            given = {"args": shlex.split(f"--{words}"), "env": {}}
            found = audit_config(given, str(after), str(before)).findings
            assert not [one for one in found if one.subject == finding.subject], (str(after), words, found)
    assert tried == 5
