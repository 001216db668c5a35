# SPDX-License-Identifier: Apache-2.0
"""A host that had no Docker has one that is configured, held and comes back at boot."""

from __future__ import annotations

import json
from typing import Any

from tests.oracle.legal import assert_legal

testinfra_hosts = ["ansible://vllm_scenario"]


def test_docker_runs_and_is_enabled(host: Any) -> None:
    assert host.service("docker").is_running
    assert host.service("docker").is_enabled
    assert host.run("docker info").rc == 0


def test_container_logs_are_rotated(host: Any) -> None:
    settings = json.loads(host.file("/etc/docker/daemon.json").content_string)
    assert settings["log-driver"] == "json-file"
    assert settings["log-opts"] == {"max-size": "50m", "max-file": "3"}
    assert settings["registry-mirrors"] == ["http://10.212.0.2:5000"]


def test_its_version_is_held(host: Any) -> None:
    assert "docker.io" in host.check_output("apt-mark showhold").split()


def test_it_started_with_its_own_configuration(host: Any) -> None:
    assert host.check_output("docker info --format %s", "{{ .LoggingDriver }}") == "json-file"
    assert "http://10.212.0.2:5000/" in host.check_output("docker info --format %s", "{{ .RegistryConfig.Mirrors }}")


def test_the_host_ends_in_a_legal_state(host: Any) -> None:
    assert_legal(host)
