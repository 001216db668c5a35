# SPDX-License-Identifier: Apache-2.0
"""What a deployment leaves on a host, looked at from outside Ansible; every expected value is written out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.oracle.legal import assert_legal

testinfra_hosts = ["ansible://vllm_scenario"]
ROOM = "/var/lib/gpuhosts-vllm/chat"


def inspect(host: Any, template: str) -> str:
    """Ask Docker about the service's container."""
    return host.check_output("docker inspect --format %s vllm-chat", template)


def test_the_unit_runs_and_comes_back_with_docker(host: Any) -> None:
    service = host.service("vllm-chat")
    assert service.is_running
    assert service.is_enabled
    unit = host.file("/etc/systemd/system/vllm-chat.service")
    assert unit.is_file
    assert not unit.is_symlink
    assert unit.mode == 0o644
    assert f"ExecStart={ROOM}/current/run" in unit.content_string
    assert "Restart=always" in unit.content_string
    assert host.file("/etc/systemd/system/docker.service.wants/vllm-chat.service").exists


def test_what_a_restart_cuts_off_is_seen_to_before_the_service_starts(host: Any) -> None:
    unit = host.file("/etc/systemd/system/gpuhosts-vllm-resume.service")
    assert unit.is_file and not unit.is_symlink and unit.mode == 0o644
    assert host.file("/etc/systemd/system/docker.service.wants/gpuhosts-vllm-resume.service").exists
    assert "vllm-chat.service" in host.check_output("systemctl show -P Before gpuhosts-vllm-resume").split()
    assert host.check_output("systemctl show -P NeedDaemonReload gpuhosts-vllm-resume") == "no"
    assert host.run("vllm-host resume").rc == 0


def test_one_container_with_its_labels_and_no_second_supervisor(host: Any) -> None:
    found = host.check_output("docker ps --all --quiet --filter label=io.gpuhosts.vllm.service=chat").split()
    assert len(found) == 1
    assert inspect(host, "{{ .HostConfig.RestartPolicy.Name }}") in ("no", "")
    assert inspect(host, "{{ .HostConfig.AutoRemove }}") == "false"
    assert inspect(host, '{{ index .Config.Labels "io.gpuhosts.vllm.release" }}').startswith("rel-")


def test_shared_memory_is_what_was_asked(host: Any) -> None:
    assert inspect(host, "{{ .HostConfig.ShmSize }}") == str(1024**3)


def test_it_listens_on_loopback_only(host: Any) -> None:
    assert host.socket("tcp://127.0.0.1:8000").is_listening
    assert not host.socket("tcp://0.0.0.0:8000").is_listening


def test_it_generates(host: Any) -> None:
    asked = json.dumps({"model": "chat", "prompt": "Hello", "max_tokens": 4})
    answer = host.check_output(
        "curl -sf http://127.0.0.1:8000/v1/completions -H 'Content-Type: application/json' -d %s", asked
    )
    assert json.loads(answer)["choices"][0]["finish_reason"] in ("length", "stop")


def test_the_release_is_committed(host: Any) -> None:
    current = host.file(f"{ROOM}/current")
    assert current.is_symlink
    assert host.file(f"{ROOM}/last_good").linked_to == current.linked_to
    assert host.file(f"{ROOM}/current/run").mode == 0o755
    last = json.loads(host.file(f"{ROOM}/journal.jsonl").content_string.splitlines()[-1])
    assert (last["kind"], last["state"], last["phase"]) == ("first_start", "committed", "done")


def test_secrets_are_for_the_container_only(host: Any) -> None:
    secrets = host.file("/etc/gpuhosts-vllm/chat/secrets")
    assert secrets.mode == 0o600
    assert secrets.user == "root"


@pytest.mark.parametrize("command", ["vllm-host status chat", "vllm-health --url http://127.0.0.1:8000"])
def test_the_tools_work_on_the_host(host: Any, command: str) -> None:
    assert host.run(command).rc == 0


def test_the_host_ends_in_a_legal_state(host: Any) -> None:
    assert_legal(host)
