"""Docker and the host go away, in order and not, while an engine serves and while one loads: it always comes back."""

from __future__ import annotations

import time

import pytest

from tests.integration.committed import ENV, Committed, seconds_to_multi_user
from tests.integration.harness import Inventory, service

HOST = "gpu1"
SERVING, LOADING = "serving", "loading"
STOP_DOCKER = "systemctl stop docker.socket docker.service containerd.service"
START_DOCKER = "systemctl start containerd.service docker.socket docker.service"

# What is done, and the ending that is recorded for the start that it ends.
EVENTS = {
    "docker stop": ("docker stop -t 3 vllm-chat", "stopped_in_docker"),
    "docker kill": ("docker kill vllm-chat", "stopped_in_docker"),
    "stop and start of Docker's package": (f"{STOP_DOCKER}; sleep 1; {START_DOCKER}", "docker_stopping"),
    "systemctl restart docker": ("systemctl restart docker", "docker_stopping"),
}


@pytest.fixture(scope="module")
def chat(tmp_path_factory, lab, standin_lock):
    """A committed service on a host that was empty; the table of measured times is printed at the end."""
    lab[HOST].reset()
    services = {"chat": service(env=ENV)}
    inventory = Inventory.make(tmp_path_factory.mktemp("stops"), services, hosts=(HOST,), lock=standin_lock)
    played = inventory.play("deploy")
    assert played.rc == 0, played.text
    made = Committed(lab[HOST], inventory)
    yield made
    print("\n" + "\n".join(made.rows))


@pytest.fixture
def ended(chat, lab):
    """Give a function that waits until the service is back after an event, and gives what was kept of the one ended."""
    assert lab[HOST] is chat.host
    chat.fresh_limit()

    def back(event, when, seq, began, *, more=""):
        serves = chat.serving_after(seq)
        chat.rows.append(f"{event:<36} {when:<8} serving again after {time.monotonic() - began:5.1f} s{more}")
        chat.proves()
        assert serves == seq + 1, f"{serves - seq} starts were needed"
        return chat.start(seq)

    yield back
    chat.quick()


@pytest.mark.parametrize("when", [SERVING, LOADING])
@pytest.mark.parametrize("event", EVENTS)
def test_it_comes_back_from(event, when, chat, ended):
    command, ending = EVENTS[event]
    seq = chat.loads() if when == LOADING else chat.newest()
    chat.quick()
    began = time.monotonic()
    chat.host.run(command)
    known = ended(event, when, seq, began)
    assert known["ending"] == ending, known
    assert bool(known.get("ready")) == (when == SERVING)
    assert known["fault"] == (ending == "stopped_in_docker")
    assert "Starting to load model" in chat.log(seq)


def test_a_reload_of_docker_and_a_restart_of_containerd_disturb_nothing(chat, lab):
    assert lab[HOST] is chat.host
    seq = chat.loads()
    container = chat.host.run("docker ps -aq --no-trunc")
    for _when in (LOADING, SERVING):
        for command in ("systemctl reload docker", "systemctl restart containerd"):
            chat.host.run(command)
        chat.serving_after(seq - 1)
    chat.proves()
    chat.quick()
    assert chat.newest() == seq and "ended_at" not in chat.start(seq)
    assert chat.host.run("docker ps -aq --no-trunc") == container


@pytest.mark.parametrize("when", [SERVING, LOADING])
@pytest.mark.parametrize("event", ["reboot", "power cut"])
def test_a_host_boots_without_waiting_for_the_model_and_brings_it_back(event, when, chat, ended):
    seq = chat.loads() if when == LOADING else chat.newest()
    began = time.monotonic()
    chat.host.reboot() if event == "reboot" else chat.host.power_cut()
    took = seconds_to_multi_user(chat.host)
    if when == LOADING:  # its engine still loads slowly, and the boot has not waited for it
        assert chat.active() in ("inactive", "activating")
    known = ended(event, when, seq, began, more=f", multi-user.target {took:4.1f} s after the start of the host")
    assert took < 30
    assert known["ending"] == ("host_stopping" if event == "reboot" else "host_lost"), known
    assert "Starting to load model" in chat.log(seq)


def test_after_all_of_it_the_playbook_finds_nothing_wrong(chat, lab):
    played = chat.play("verify")
    assert played.rc == 0 and "no error" in played.text, played.text
    assert lab[HOST].run("systemctl --failed --no-legend --plain") == ""
