# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""One pull: what its output says, and what follows from it."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.pull import (
    check_pulled,
    explain_pull,
    pull_progress,
    pull_script,
    require_pull,
    second_opinion,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.resolve import Answer
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings

DIGEST = "sha256:" + "5" * 64
PULL = f"vllm/vllm-openai@{DIGEST}"


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("write /var/lib/docker/tmp/GetImageBlob1: no space left on device", "disk_room"),
        ("Error response from daemon: pull access denied for x, repository does not exist", "registry_auth"),
        ("Error response from daemon: unauthorized: authentication required", "registry_auth"),
        ("Error response from daemon: manifest unknown: manifest unknown", "image_not_found"),
        (
            'Error response from daemon: Get "https://r/v2/": tls: failed to verify certificate: x509: signed by',
            "registry_ca",
        ),
        ("http: server gave HTTP response to HTTPS client", "registry_insecure"),
        ("dial tcp: lookup registry-1.docker.io: no such host", "registry_unreachable"),
        ("toomanyrequests: You have reached your pull rate limit", "registry_limit"),
        ("Cannot connect to the Docker daemon at unix:///var/run/docker.sock", "docker_unreachable"),
        ("something new", "pull_failed"),
    ],
)
def test_a_failed_pull_is_explained_with_dockers_words(said, kind):
    finding = explain_pull(f"a1b2c3d4e5f6: Pulling fs layer\n{said}\n", PULL, 1).finding
    assert finding.id == kind
    assert said in finding.message
    assert finding.remedy


def test_a_pull_that_was_ended_from_outside():
    assert "ended from outside" in explain_pull("", PULL, None).finding.message


def test_progress_counts_layers():
    log = "\n".join(
        [
            f"{PULL}: Pulling from vllm/vllm-openai",
            "aaaaaaaaaaaa: Already exists",
            "bbbbbbbbbbbb: Pulling fs layer",
            "cccccccccccc: Pulling fs layer",
            "bbbbbbbbbbbb: Download complete",
            "bbbbbbbbbbbb: Pull complete",
        ]
    )
    assert pull_progress(log, 1_500_000_000, 9_000_000_000) == "2 of 3 layers done, 1.50 GB in flight of 9.00 GB in all"
    assert pull_progress("", 0, None) == "asking the registry"


@pytest.mark.parametrize("pull", ["vllm/vllm-openai:v0.32.0", "vllm/vllm-openai", "x@sha256:12", ""])
def test_only_digests_are_pulled(pull):
    with pytest.raises(Refusal, match="lock"):
        require_pull("chat", pull)


def test_what_docker_has_must_be_what_was_asked():
    right = {"RepoDigests": [PULL], "Os": "linux", "Architecture": "amd64"}
    check_pulled(PULL, right, "linux/amd64")
    with pytest.raises(Refusal) as stop:
        check_pulled(PULL, {**right, "RepoDigests": ["vllm/vllm-openai@sha256:" + "6" * 64]}, "linux/amd64")
    assert stop.value.finding.id == "image_digest_wrong"
    with pytest.raises(Refusal) as stop:
        check_pulled(PULL, right, "linux/arm64")
    assert stop.value.finding.id == "image_platform"


def test_the_script_quotes_and_names_no_login():
    settings = registry_settings({"server": "own.example", "username": "me", "password": "s3cret"})
    script = pull_script(PULL, "/run/a b", "/root")
    assert "DOCKER_CONFIG='/run/a b' docker pull" in script
    assert "s3cret" not in script
    assert json.loads(settings.docker_config() or "")["auths"]["own.example"]["auth"] == "bWU6czNjcmV0"
    assert registry_settings({}).docker_config() is None
    assert "s3cret" not in repr(settings)


def test_docker_hub_logs_in_under_its_old_name():
    config = json.loads(registry_settings({"username": "me", "password": "x"}).docker_config() or "")
    assert list(config["auths"]) == ["https://index.docker.io/v1/"]


def test_a_second_opinion_tells_what_docker_does_not():
    settings = registry_settings({"mirror": "http://mirror.example"})
    first = explain_pull("dial tcp: lookup registry-1.docker.io: no such host", PULL, 1)
    nobody = second_opinion(first, PULL, settings, lambda url, headers: Answer(404, {}, b""))
    assert nobody.finding.id == "image_not_found"
    full = explain_pull("no space left on device", PULL, 1)
    assert second_opinion(full, PULL, settings, lambda url, headers: Answer(404, {}, b"")) is full


def test_a_proxy_may_not_hold_a_login():
    with pytest.raises(Refusal, match="login"):
        registry_settings({"proxy": "http://me:s3cret@proxy:3128"})
