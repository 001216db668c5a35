# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a service means for a host: release content, gate, and the entry that the playbooks take."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.lock import LockedImage, LockedPlatform
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import content_problems, release_id
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.content import (
    gate_record,
    release_content,
    service_entry,
)

INDEX, CHILD = "sha256:" + "a" * 64, "sha256:" + "b" * 64
LOCKED = LockedImage(INDEX, (("linux/amd64", LockedPlatform(CHILD, 7)),))


def test_the_content_is_what_a_host_can_take(parsed):
    content = release_content(
        parsed(
            env={"B": "2", "A": "1"},
            ulimits={"nofile": 5},
            gpus=[1],
            mounts=[{"source": "/a", "target": "/b"}],
            docker_args=["--privileged"],
            after=["x.mount"],
            user="1:1",
        ),
        INDEX,
    )
    assert content_problems(content) == []
    assert json.loads(json.dumps(content)) == content
    assert content["image"] == "vllm/vllm-openai"
    assert content["gpus"] == ["1"]
    assert content["mounts"] == [{"source": "/a", "target": "/b", "read_only": True}]
    assert content["ulimits"] == {"nofile": "5"}
    assert content["env"]["HF_HUB_OFFLINE"] == "1"
    assert list(content["env"]) == sorted(content["env"])


def test_a_container_with_its_own_network_is_bound_by_docker(parsed):
    words = release_content(parsed(bind="127.0.0.1"), INDEX)["args"]
    assert words[words.index("--host") + 1] == "0.0.0.0"
    words = release_content(parsed(bind="127.0.0.1", network="host"), INDEX)["args"]
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert words[words.index("--port") + 1] == "8000"


def test_a_hub_model_is_asked_for_by_its_commit_and_a_path_has_none(parsed):
    words = release_content(parsed(), INDEX)["args"]
    assert (words[0], words[words.index("--revision") + 1]) == (
        "Qwen/Qwen3-8B",
        "9c925d64d72725edaf899c6cb9c377fd0709d9c5",
    )
    content = release_content(parsed(model="/srv/m/", revision=...), INDEX)
    assert (content["args"][0], "--revision" in content["args"]) == ("/srv/m", False)
    assert content["model"] == {"kind": "path", "name": "/srv/m", "revision": None}


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"max_model_len": 4096}},
        {"shm_size": "16G"},
        {"shm_size": "16GiB"},
        {"bind": "127.0.0.1"},
        {"gate": {"soak": "1s"}, "drain": {"cap": "1s"}, "state": "stopped"},
        {"gpus_shared": True, "exposed_without_key": True},
        {"config": {"max-model-len": 4096, "seed": None}},
    ],
)
def test_another_spelling_of_the_same_service_is_the_same_release(parsed, changes):
    assert release_id(release_content(parsed(**changes), INDEX)) == release_id(release_content(parsed(), INDEX))


@pytest.mark.parametrize(
    "changes",
    [
        {"config": {"max-model-len": 4097}},
        {"env": {"A": "1"}},
        {"port": 8001},
        {"gpus": "none"},
        {"shm_size": "8g"},
        {"after": ["a.mount"]},
        {"docker_args": ["--privileged"]},
    ],
)
def test_what_changes_the_server_changes_the_release(parsed, changes):
    assert release_id(release_content(parsed(**changes), INDEX)) != release_id(release_content(parsed(), INDEX))


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["Qwen/Qwen3-8B"]),
        ({"config": {"served-model-name": "a"}}, ["a"]),
        ({"config": {"served_model_name": ["a", "b"]}}, ["a", "b"]),
        ({"model": "/srv/m", "revision": ...}, ["/srv/m"]),
    ],
)
def test_clients_find_the_model_under_these_names(parsed, changes, names):
    assert gate_record(parsed(**changes))["served_names"] == names


@pytest.mark.parametrize(
    ("config", "runner"),
    [
        ({}, "generate"),
        ({"runner": "auto"}, "generate"),
        ({"runner": "pooling"}, "pooling"),
        ({"convert": "embed"}, "pooling"),
        ({"runner": "generate", "convert": "embed"}, "generate"),
    ],
)
def test_the_gate_knows_what_to_ask_the_server(parsed, config, runner):
    assert gate_record(parsed(config=config))["runner"] == runner


def test_the_old_word_for_pooling_counts_where_it_existed(parsed):
    config = {"task": "embed"}
    assert gate_record(parsed(image="a/b:v0.11.2", config=config))["runner"] == "pooling"
    assert gate_record(parsed(image="a/b:v0.13.0", config=config))["runner"] == "generate"


@pytest.mark.parametrize(
    ("bind", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("10.0.0.5", "http://10.0.0.5:8000"),
        ("::1", "http://[::1]:8000"),
        ("::", "http://[::1]:8000"),
    ],
)
def test_the_host_reaches_the_server_here(parsed, bind, url):
    assert gate_record(parsed(bind=bind, exposed_without_key=True))["url"] == url


def test_a_stop_leaves_the_engine_its_shutdown_time(parsed):
    assert gate_record(parsed())["stop_grace_seconds"] == 30
    assert gate_record(parsed(config={"shutdown-timeout": 90}))["stop_grace_seconds"] == 120


def test_the_entry_of_a_locked_service(parsed):
    entry = service_entry(parsed(), LOCKED)
    assert entry["pull"] == f"vllm/vllm-openai@{INDEX}"
    assert entry["platforms"] == {"linux/amd64": {"digest": CHILD, "compressed_bytes": 7}}
    assert entry["release"]["id"] == release_id(entry["release"]["content"])
    assert entry["drain"] == {"cap_seconds": 120}
    assert json.loads(json.dumps(entry)) == entry


def test_the_entry_of_a_service_that_is_not_locked_has_no_release(parsed):
    entry = service_entry(parsed(), None)
    assert (entry["pull"], entry["index_digest"], entry["release"], entry["platforms"]) == (None, None, None, {})
