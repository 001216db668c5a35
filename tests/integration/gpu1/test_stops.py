"""Docker and the host go away, in order and not, while an engine serves and while one loads: it always comes back."""

from __future__ import annotations

import json
import time

import pytest

from tests.integration.committed import ENV, Committed, seconds_to_multi_user, wait_until
from tests.integration.harness import Inventory, ansible, service

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


def test_nobody_who_looks_wakes_a_docker_that_was_stopped(chat, lab):
    """Docker's socket would start it, and with it every service, at the first question."""
    host, seq = lab[HOST], chat.newest()
    host.run("systemctl stop docker.service")
    assert host.run("systemctl is-active docker.service docker.socket || true").split() == ["inactive", "active"]
    assert "Docker does not answer" in chat.status()
    played = chat.play("verify")
    assert played.rc != 0 and "Docker does not answer" in played.text, played.text
    assert host.run("systemctl is-active docker.service || true") == "inactive"
    assert (chat.active(), chat.newest()) == ("inactive", seq)
    host.run("docker ps")  # a human may: Docker starts, and what it serves comes back
    chat.serving_after(seq)
    chat.proves()


def test_a_docker_that_is_stopped_while_a_service_waits_for_its_restart_brings_it_back(chat, ended):
    seq = chat.newest()
    chat.host.run("docker kill vllm-chat")
    assert chat.host.wait("systemctl show vllm-chat -p SubState --value", "auto-restart", seconds=15)
    began = time.monotonic()
    chat.host.run(STOP_DOCKER)
    time.sleep(12)  # longer than it would have waited
    assert chat.active() == "inactive" and chat.newest() == seq
    chat.host.run(START_DOCKER)
    ended("Docker away for a while, in the wait", SERVING, seq, began)


DIES = "kill -9 $(systemctl show docker -p MainPID --value)"


def test_a_docker_that_dies_again_and_again_uses_up_its_own_limit_only(chat, ended):
    """Docker has a start limit of its own; once a human starts it again, the service is back without another word."""
    seq, began, state = chat.newest(), time.monotonic(), "systemctl show docker -p ActiveState --value"
    for _death in range(6):
        wait_until("Docker runs or gave up", lambda: chat.host.run(state) in ("active", "failed"), 60)
        if chat.host.run(state) == "failed":
            break
        chat.host.run(f"{DIES}; sleep 1")
    assert chat.host.run(state) == "failed"
    waits = ("dead", "failed", "auto-restart", "auto-restart-queued")
    sub = "systemctl show vllm-chat -p SubState --value"
    wait_until("nothing of the service runs", lambda: chat.host.run(sub) in waits, 60)
    said = chat.status()
    assert "Docker does not answer" in said and "serving since" not in said, said
    assert chat.start(seq)["ending"] == "docker_lost", chat.start(seq)
    newest = chat.newest()
    chat.host.run("systemctl reset-failed docker.service docker.socket; systemctl start docker.socket docker.service")
    ended("Docker dies until it gives up", SERVING, newest, began, more=" (a human started Docker)")


@pytest.fixture
def container_engine(tmp_path, chat):
    """Give a function that applies the role alone, with these variables."""
    play = {"hosts": "vllm_servers", "gather_facts": False, "roles": [{"role": "gpuhosts.vllm.container_engine"}]}
    (tmp_path / "engine.yml").write_text(json.dumps([play]))
    registry = {"container_engine_registry": {"mirror": "http://10.212.0.2:5000"}}

    def apply(**variables):
        extra = json.dumps({**registry, **variables})
        words = [str(tmp_path / "engine.yml"), "-i", str(chat.inventory.folder / "hosts.json"), "-e", extra]
        return ansible("ansible-playbook", *words)

    return apply


def lives(host):
    """What a restart of anything would change."""
    units = "systemctl show docker.service containerd.service vllm-chat.service -p InvocationID --value"
    return host.run(f"{units}; docker ps -aq --no-trunc").split()


def test_a_changed_configuration_of_docker_restarts_nothing_until_a_human_says_so(chat, lab, container_engine):
    host = lab[HOST]
    before = lives(host)
    changed = {"container_engine_log_max_size": "20m", "container_engine_daemon": {"max-concurrent-downloads": 5}}
    played = container_engine(**changed)
    assert played.rc == 0, played.text
    # One key is read again while Docker runs; the other waits, and is named with the way on.
    said = "Docker has to be restarted to use: log-opts. It is not while vLLM services run (chat)"
    assert said in " ".join(played.text.split()) and "-e vllm_restart_docker=<this host>" in played.text, played.text
    assert lives(host) == before
    written = json.loads(host.run("cat /etc/docker/daemon.json"))
    assert (written["log-opts"]["max-size"], written["max-concurrent-downloads"]) == ("20m", 5)
    again = container_engine(**changed)
    assert again.changes(HOST) == 0 and said in " ".join(again.text.split()), again.text

    named = container_engine(**changed, vllm_restart_docker=HOST)
    assert named.rc == 0 and said in " ".join(named.text.split()), named.text
    assert lives(host) == before

    host.run("systemctl stop vllm-chat")
    seq = chat.newest()
    other = container_engine(**changed, vllm_restart_docker="another-host")
    assert "installed vLLM services: run with -e vllm_restart_docker=<this host>" in " ".join(other.text.split())
    assert lives(host)[:1] == before[:1]
    done = container_engine(**changed, vllm_restart_docker=HOST)
    assert done.rc == 0 and "has to be restarted" not in done.text, done.text
    assert lives(host)[:1] != before[:1]
    chat.serving_after(seq)  # nobody marked it as stopped, so it comes back with Docker
    chat.proves()
    assert "has to be restarted" not in container_engine(**changed).text


def test_after_all_of_it_the_playbook_finds_nothing_wrong(chat, lab):
    played = chat.play("verify")
    assert played.rc == 0 and "no error" in played.text, played.text
    assert lab[HOST].run("systemctl --failed --no-legend --plain") == ""
