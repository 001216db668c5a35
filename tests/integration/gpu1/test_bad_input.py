"""Bad input stops before anything on any host changed; the message says where, what, what is allowed and what to do."""

from __future__ import annotations

import pytest

from tests.integration.committed import wait_until
from tests.integration.harness import MODEL, STANDIN, Inventory, service

# Each case: the services, then what the message has to say beside host and service.
JUDGED = {
    "unknown key": ({"chat": service(modle="x")}, ["chat", "modle", "model"]),
    "wrong type": ({"chat": service(port="eighty")}, ["chat", "port", "eighty", "whole number"]),
    "yaml trap in env": (
        {"chat": service(env={"VLLM_LAB": True})},
        ["chat", "VLLM_LAB", "quote"],
    ),
    "port clash": ({"chat": service(), "embed": service()}, ["chat", "embed", "8000"]),
    "gpu clash": (
        {"chat": service(gpus=[0]), "embed": service(port=8001, gpus=[0, 1])},
        ["chat", "embed", "gpus"],
    ),
    "unlocked image": ({"chat": service(image="lab/vllm-standin:v0.33.0")}, ["chat", "v0.33.0", "gpuhosts.vllm.lock"]),
    "unsupported version": ({"chat": service(image="vllm/vllm-openai:v0.10.2")}, ["chat", "0.10.2", "0.11.1"]),
    "owned docker argument": ({"chat": service(docker_args=["--name=mine"])}, ["chat", "docker_args", "--name"]),
}


@pytest.mark.parametrize("case", sorted(JUDGED))
def test_a_wrong_inventory_stops_on_the_controller(tmp_path, standin_lock, case):
    services, words = JUDGED[case]
    played = Inventory.make(tmp_path, services, lock=standin_lock).play("deploy")
    assert played.rc != 0
    assert "gpu1" in played.text
    missing = [word for word in words if word not in played.text]
    assert not missing, f"the message does not say {missing}:\n{played.text}"
    assert "Traceback" not in played.text
    assert played.text.count("TASK [") == 1, "something ran after the inventory was judged wrong"


# Each case needs the host: what is done to it first is undone by the fixture that resets it.
def test_a_port_that_a_foreign_process_holds_is_named_with_its_holder(tmp_path, standin_lock, lab_host, snapshots):
    # It may bind beside what a server left in TIME_WAIT, and it listens before anything is looked at.
    holder = "import socket,time;s=socket.create_server(('127.0.0.1',8000));time.sleep(300)"
    lab_host.run(f'systemd-run --unit=lab-port-holder python3 -c "{holder}"')
    wait_until("the port is held", lambda: lab_host.run("ss -Hltn sport = :8000"), 15)
    try:
        with snapshots("gpu1"):
            played = Inventory.make(tmp_path, {"chat": service()}, lock=standin_lock).play("deploy")
    finally:
        lab_host.run("systemctl stop lab-port-holder")
    assert played.rc != 0
    assert all(word in played.text for word in ("gpu1", "chat", "8000", "python3")), played.text


def test_a_model_path_that_is_not_there_is_named(tmp_path, standin_lock, lab_host, snapshots):
    with snapshots("gpu1"):
        played = Inventory.make(tmp_path, {"chat": service(model="/srv/models/nope")}, lock=standin_lock).play("deploy")
    assert played.rc != 0
    assert all(word in played.text for word in ("gpu1", "chat", "model", "/srv/models/nope")), played.text


def test_a_digest_that_the_registry_does_not_have_stops_in_time(tmp_path, standin_lock, lab_host, snapshots):
    inventory = Inventory.make(tmp_path, {"chat": service()}, lock=standin_lock)
    lock = tmp_path / "vllm.lock.yml"
    text = lock.read_text()
    digest = text.split("index: ")[1].split()[0].strip('"')
    lock.write_text(text.replace(digest, "sha256:" + "0" * 64))
    lab_host.forget_images(STANDIN)
    with snapshots("gpu1"):
        played = inventory.play("deploy")
    assert played.rc != 0
    assert all(word in played.text for word in ("gpu1", "chat", "sha256:0000", "gpuhosts.vllm.lock")), played.text


def test_a_registry_that_does_not_answer_stops_before_anything_changes(tmp_path, standin_lock, lab_host, snapshots):
    services = {"chat": service()}
    inventory = Inventory.make(tmp_path, services, lock=standin_lock)
    inventory.declare(services, vllm_registry={"mirror": "http://10.212.0.250:5000"})
    lab_host.forget_images(STANDIN)
    with snapshots("gpu1"):
        played = inventory.play("deploy")
    assert played.rc != 0
    assert all(word in played.text for word in ("gpu1", "chat", "10.212.0.250:5000")), played.text


def test_a_host_without_room_for_the_image_stops_before_anything_changes(tmp_path, standin_lock, lab_host, snapshots):
    lab_host.forget_images(STANDIN)
    with snapshots("gpu1"):
        inventory = Inventory.make(tmp_path, {"chat": service()}, lock=standin_lock)
        played = inventory.play("deploy", host_check_reserve_gib=1_000_000)
    assert played.rc != 0
    assert all(word in played.text for word in ("gpu1", "chat", "image", "GiB", "free")), played.text


def test_an_unsupported_system_is_refused_by_name(tmp_path, standin_lock, lab_host, snapshots):
    lab_host.run("cp /usr/lib/os-release /tmp/os-release; printf 'ID=plan9\\nVERSION_ID=4\\n' > /usr/lib/os-release")
    try:
        with snapshots("gpu1"):
            played = Inventory.make(tmp_path, {"chat": service()}, lock=standin_lock).play("deploy")
    finally:
        lab_host.run("cp /tmp/os-release /usr/lib/os-release")
    assert played.rc != 0
    assert all(word in played.text for word in ("gpu1", "plan9", "Debian")), played.text


def test_gpus_that_the_host_does_not_have_are_refused(tmp_path, standin_lock, lab_host, snapshots):
    with snapshots("gpu1"):
        played = Inventory.make(tmp_path, {"chat": service(gpus=7, model=MODEL)}, lock=standin_lock).play("deploy")
    assert played.rc != 0
    assert all(word in played.text for word in ("gpu1", "chat", "gpus", "7", "2")), played.text
