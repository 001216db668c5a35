# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a host for the services that it shall run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.findings import ERROR, INFO, WARNING
from ansible_collections.gpuhosts.vllm.plugins.module_utils.gpu.query import Gpu
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.engine import (
    device_request,
    toolkit_missing,
    wants_cdi,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import (
    Disk,
    Engine,
    GpuHost,
    Host,
    Listener,
    OperatingSystem,
    Published,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.judge import Limits, Seen, failure_text, judge_host
from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.wanted import wanted

GIB = 1 << 30
PULL = "vllm/vllm-openai@sha256:" + "5" * 64
GPUS = (Gpu(0, "GPU-aaaa", "H100", 81559, "580.1"), Gpu(1, "GPU-bbbb", "H100", 81559, "580.1"))
GOOD = Host(
    os=OperatingSystem("debian", "13", "Debian GNU/Linux 13 (trixie)"),
    kernel="6.12",
    platform="linux/amd64",
    python="3.13.5",
    systemd="257",
    cgroup=2,
    memory_total_bytes=64 * GIB,
    memory_available_bytes=60 * GIB,
    disks={
        name: Disk(f"/{name}", device, 500 * GIB, 100 * GIB)
        for name, device in (("docker", 1), ("cache", 2), ("state", 2))
    },
    engine=Engine(installed=True, reachable=True, version="26.1.5+dfsg1", cdi_enabled=True),
    gpu=GpuHost(
        nvidia_smi=True, nvidia_pci=True, gpus=GPUS, cdi_devices=("all", "0", "1", "GPU-bbbb", "MIG-1234"), toolkit=True
    ),
)


def service(**more):
    """A service as vllm_services returns it, as far as a host is judged by it."""
    given = {
        "name": "chat",
        "state": "started",
        "bind": "127.0.0.1",
        "port": 8000,
        "gpus": "all",
        "shm_bytes": GIB,
        "pull": PULL,
    }
    return {**given, "model": {"kind": "path", "name": "/models/m", "revision": None}, "platforms": {}, **more}


def findings_of(host=GOOD, services=None, seen=None, **limits):
    """Everything that is found, by id."""
    asked = wanted([service()] if services is None else services)
    found = judge_host(host, asked, seen or Seen(), replace(Limits(engine_expected=True), **limits))
    return {finding.id: finding for finding in found}


BARE = Engine(installed=False, reachable=False)
DOWN = Engine(installed=True, reachable=False, error="Cannot connect", version="26.1.5")
NO_GPU = GpuHost(nvidia_smi=False, nvidia_pci=False)


def test_a_good_host():
    assert findings_of() == {}


@pytest.mark.parametrize(
    ("name", "version", "severity"),
    [
        ("debian", "12", None),
        ("ubuntu", "22.04", None),
        ("ubuntu", "24.04", None),
        ("debian", "11", ERROR),
        ("ubuntu", "20.04", ERROR),
        ("alpine", "3.20", ERROR),
        ("rhel", "9.4", WARNING),
        ("rocky", "9.5", WARNING),
        ("rhel", "8.10", ERROR),
    ],
)
def test_operating_systems(name, version, severity):
    found = findings_of(replace(GOOD, os=OperatingSystem(name, version, f"{name} {version}")))
    assert [finding.severity for finding in found.values()] == ([severity] if severity else [])


def test_dgx_os_is_written_and_not_tried():
    found = findings_of(replace(GOOD, os=OperatingSystem("ubuntu", "24.04", "DGX OS 7", dgx=True)))
    assert found["os_untried"].severity == WARNING


@pytest.mark.parametrize(
    ("change", "kind", "severity"),
    [
        ({"systemd": None}, "systemd_missing", ERROR),
        ({"systemd": "241"}, "systemd_old", ERROR),
        ({"cgroup": 1}, "cgroup_version", WARNING),
        ({"memory_total_bytes": 2 * GIB}, "memory_small", ERROR),
        ({"memory_available_bytes": GIB // 2}, "memory_shm", WARNING),
        ({"engine": replace(GOOD.engine, version="19.03.5")}, "docker_old", ERROR),
        ({"engine": DOWN}, "docker_unreachable", ERROR),
        ({"engine": BARE}, "docker_missing", ERROR),
        ({"gpu": NO_GPU}, "nvidia_smi_missing", ERROR),
        ({"gpu": replace(GOOD.gpu, gpus=(), error="No devices were found")}, "gpu_none", ERROR),
    ],
)
def test_what_is_missing_has_a_name(change, kind, severity):
    found = findings_of(replace(GOOD, **change))
    assert found[kind].severity == severity
    assert found[kind].remedy


@pytest.mark.parametrize(
    ("engine", "kind", "severity"), [(BARE, "docker_missing", INFO), (DOWN, "docker_unreachable", WARNING)]
)
def test_before_the_engine_comes_its_absence_is_no_error(engine, kind, severity):
    found = findings_of(replace(GOOD, engine=engine), engine_expected=False)
    assert {name: finding.severity for name, finding in found.items()} == {kind: severity}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("all", None),
        (2, None),
        (3, "3 GPUs are asked and the host has 2"),
        (["0", "1"], None),
        ([0], None),
        (["GPU-bbbb"], None),
        (["7"], "the host has no GPU 7"),
        (["MIG-1234"], None),
    ],
)
def test_gpus_as_asked(asked, message):
    found = findings_of(services=[service(gpus=asked)])
    assert [finding.message for finding in found.values()] == ([message] if message else [])


def test_a_service_without_gpus_needs_none():
    assert findings_of(replace(GOOD, gpu=NO_GPU), [service(gpus="none")]) == {}


def test_a_gpu_that_no_container_gets():
    host = replace(GOOD, gpu=replace(GOOD.gpu, cdi_devices=(), toolkit=False))
    assert findings_of(host)["gpu_not_offered"].severity == ERROR
    assert findings_of(host, engine_expected=False)["gpu_not_offered"].severity == INFO
    assert toolkit_missing(host.gpu)
    assert not toolkit_missing(GOOD.gpu)


@pytest.mark.parametrize(
    ("engine", "gpu", "request_kind"),
    [
        (GOOD.engine, GOOD.gpu, "cdi"),
        (replace(GOOD.engine, cdi_enabled=False), GOOD.gpu, "gpus"),
        (replace(GOOD.engine, cdi_enabled=False), replace(GOOD.gpu, toolkit=False), "none"),
        (
            replace(GOOD.engine, cdi_enabled=False, runtimes=("nvidia", "runc")),
            replace(GOOD.gpu, toolkit=False),
            "gpus",
        ),
        (replace(GOOD.engine, cdi_enabled=True), replace(GOOD.gpu, cdi_devices=()), "gpus"),
        (BARE, GOOD.gpu, "cdi"),
        (replace(DOWN, version="20.10.24"), GOOD.gpu, "gpus"),
        (BARE, NO_GPU, "none"),
    ],
)
def test_how_gpus_are_asked_for(engine, gpu, request_kind):
    assert device_request(engine, gpu) == request_kind


def test_when_docker_is_told_to_use_cdi():
    assert wants_cdi(GOOD.engine, GOOD.gpu)
    assert wants_cdi(BARE, GOOD.gpu)
    assert not wants_cdi(replace(GOOD.engine, version="20.10.24"), GOOD.gpu)
    assert not wants_cdi(GOOD.engine, NO_GPU)


OWN, OTHER = "a" * 64, "b" * 64
RUNS = {OWN: "chat", OTHER: None}


@pytest.mark.parametrize(
    ("listener", "holder"),
    [
        (Listener("127.0.0.1", 8000, 42, "nginx"), "process nginx (pid 42)"),
        (Listener("0.0.0.0", 8000, 42, "nginx"), "process nginx (pid 42)"),
        (Listener("::", 8000, 42, "nginx"), "process nginx (pid 42)"),
        (Listener("::ffff:127.0.0.1", 8000, 42, "nginx"), "process nginx (pid 42)"),
        (Listener("10.0.0.5", 8000, 42, "nginx"), None),
        (Listener("127.0.0.1", 8001, 42, "nginx"), None),
        (Listener("127.0.0.1", 8000), "process unknown (pid unknown)"),
        (Listener("127.0.0.1", 8000, 42, "VLLM", OWN), None),
        (Listener("127.0.0.1", 8000, 42, "x", OTHER), f"process x (pid 42) in container {OTHER[:12]}"),
    ],
)
def test_who_holds_a_port(listener, holder):
    host = replace(GOOD, listeners=(listener,), engine=replace(GOOD.engine, containers=RUNS))
    found = findings_of(host)
    assert [finding.observed for finding in found.values()] == ([holder] if holder else [])


@pytest.mark.parametrize(
    ("container", "owner", "holder"),
    [
        ("vllm-chat", "chat", None),
        ("vllm-other", "other", "container vllm-other of the service other"),
        ("web", None, "container web"),
    ],
)
def test_a_published_port_is_held_by_its_container(container, owner, holder):
    proxy = Listener("127.0.0.1", 8000, 7, "docker-proxy")
    engine = replace(GOOD.engine, published=(Published("127.0.0.1", 8000, container, owner),))
    found = findings_of(replace(GOOD, listeners=(proxy,), engine=engine))
    assert [finding.observed for finding in found.values()] == ([holder] if holder else [])


def test_only_started_services_are_judged():
    taken = replace(GOOD, listeners=(Listener("127.0.0.1", 8000, 42, "nginx"),))
    assert findings_of(taken, [service(state="stopped"), service(state="absent")]) == {}


def test_room_is_added_up_for_each_file_system():
    seen = Seen({PULL: 20 * GIB}, {"chat": 96 * GIB})
    assert set(findings_of(seen=seen)) == {"disk_room"}
    one = replace(GOOD, disks={name: replace(disk, device=1) for name, disk in GOOD.disks.items()})
    found = findings_of(one, seen=Seen({PULL: 20 * GIB}, {"chat": 40 * GIB}))["disk_room"]
    assert found.expected == (60 + 40 + 5) * GIB
    assert "model /models/m 40.0 GiB" in found.message
    assert "image vllm/vllm-openai@" in found.message
    assert findings_of(seen=Seen({PULL: 20 * GIB}, {"chat": 40 * GIB})) == {}


def test_two_services_share_an_image():
    seen = Seen({PULL: 30 * GIB})
    assert findings_of(services=[service(), service(name="embed", port=8001)], seen=seen) == {}


def test_the_size_of_the_lock_file_counts_when_nobody_else_knows():
    platforms = {"linux/amd64": {"digest": "sha256:1", "compressed_bytes": 40 * GIB}}
    assert "disk_room" in findings_of(services=[service(platforms=platforms)], seen=Seen({PULL: None}))
    assert findings_of(services=[service(platforms=platforms)]) == {}


def test_an_unknown_size_is_worth_knowing():
    assert findings_of(seen=Seen({PULL: None}))["size_unknown"].severity == INFO


def test_a_full_disk_without_any_need():
    full = {name: Disk(f"/{name}", 1, 500 * GIB, GIB) for name in ("docker", "cache", "state")}
    found = findings_of(replace(GOOD, disks=full))["disk_room"]
    assert "/cache, /docker, /state" in found.subject


def test_an_image_for_another_platform():
    found = findings_of(services=[service(platforms={"linux/arm64": {"digest": "sha256:1"}})])
    assert found["image_platform"].observed == ["linux/arm64"]


def test_a_model_path_that_is_none():
    seen = Seen(model_faults={"chat": "this path does not exist on the host"})
    finding = findings_of(seen=seen)["model_path"]
    assert (finding.subject, finding.severity) == ("chat: model /models/m", ERROR)


def test_the_message_names_everything_that_stops():
    host = replace(GOOD, engine=BARE, gpu=replace(GOOD.gpu, gpus=GPUS[:1]), cgroup=1)
    text = failure_text(list(findings_of(host, [service(gpus=2)]).values()))
    assert text.splitlines()[0] == "2 problems on this host:"
    assert "- host Docker: Docker is not installed. Next: " in text
    assert "- chat: gpus 2: 2 GPUs are asked and the host has 1. Next: " in text
    assert "cgroup" not in text


def test_a_cdi_specification_that_is_older_than_the_gpus():
    stale = replace(GOOD, gpu=replace(GOOD.gpu, cdi_devices=("all", "0")))
    found = findings_of(stale, [service(gpus=2)])
    assert "nvidia.com/gpu=1" in found["gpu_not_in_cdi"].message
    assert findings_of(stale, [service(gpus=1)]) == {}
    assert set(findings_of(stale, [service(gpus=["7"])])) == {"gpu_count"}
