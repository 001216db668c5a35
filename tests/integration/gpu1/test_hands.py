"""People who stop, start and move things by hand, past the playbooks: named in the outcome, and it ends well."""

from __future__ import annotations

import json
import time

import pytest

from tests.integration.committed import ENV, Committed, wait_until
from tests.integration.harness import Inventory, ansible, begin, service

HOST = "gpu1"


@pytest.fixture(scope="module")
def chat(tmp_path_factory, lab, standin_lock):
    """A committed service on a host that was empty."""
    lab[HOST].reset()
    services = {"chat": service(env=ENV)}
    inventory = Inventory.make(tmp_path_factory.mktemp("hands"), services, hosts=(HOST,), lock=standin_lock)
    played = inventory.play("deploy")
    assert played.rc == 0, played.text
    return Committed(lab[HOST], inventory)


@pytest.fixture
def host(chat, lab):
    """The host, its service serving when the test begins and quick to start when it has ended."""
    yield lab[HOST]
    chat.quick()


def served(chat):
    """Have it serving, and give the number of the start."""
    chat.fresh_limit()
    if chat.active() != "active":
        chat.host.run("systemctl start vllm-chat")
    return chat.newest()


def test_a_stop_by_hand_is_said_by_deploy_and_ended_by_start(chat, host):
    seq = served(chat)
    host.run("systemctl stop vllm-chat")
    known = chat.start(seq)
    assert (known["ending"], known["fault"]) == ("stopped", False)
    assert "somebody stopped or restarted vllm-chat.service" in chat.status()
    played = chat.play("deploy")
    assert played.rc != 0 and played.changes(HOST) == 0, played.text
    assert "somebody stopped or restarted vllm-chat.service" in played.text, played.text
    assert "ansible-playbook gpuhosts.vllm.start -e vllm_confirm=chat" in played.text
    assert chat.newest() == seq
    host.run("systemctl start vllm-chat")
    chat.proves()


def test_restarts_by_hand_do_not_use_up_the_start_limit_not_in_mid_gate_either(chat, host):
    seq = served(chat)
    for each in range(7):
        chat.slow()
        host.run("systemctl restart --no-block vllm-chat")
        if each in (0, 6):  # the others as soon as they have begun
            chat.loading_after(seq)
        wait_until("the next start", lambda before=seq: chat.newest() > before, 60)
        seq = chat.newest()
    chat.quick()
    host.run("systemctl restart vllm-chat")
    chat.proves()
    for each in range(seq - 6, seq + 1):
        known = chat.start(each)
        assert (known["ending"], known["fault"], known["ready"]) == ("stopped", False, False), known


def test_a_signal_through_systemd_is_an_ending_and_it_comes_back(chat, host):
    seq = served(chat)
    host.run("systemctl kill vllm-chat")
    assert chat.serving_after(seq) == seq + 1
    assert chat.start(seq)["ending"] == "stopped_in_docker", chat.start(seq)
    chat.proves()


@pytest.mark.parametrize("loading", [False, True])
def test_a_removed_container_takes_no_evidence_with_it(loading, chat, host):
    seq = served(chat)
    if loading:
        seq = chat.loads()
        chat.quick()
    host.run("docker rm -f vllm-chat")
    assert chat.serving_after(seq) == seq + 1
    known = chat.start(seq)
    assert (known["ending"], known["exit_code"]) == ("stopped_in_docker", 137), known
    assert "Starting to load model" in chat.log(seq)
    chat.proves()


def test_a_paused_engine_hangs_nobody_and_can_be_stopped(chat, host):
    seq = served(chat)
    host.run("docker pause vllm-chat")
    began = time.monotonic()
    said = host.run("vllm-health --url http://127.0.0.1:8000 --timeout 3; echo $?")
    assert said.endswith(("1", "124")) and time.monotonic() - began < 12, said
    assert "paused" in chat.status(), chat.status()
    began = time.monotonic()
    done = ansible(
        "ansible",
        *("gpu1", "-i", str(chat.inventory.folder / "hosts.json"), "-b"),
        *("-m", "gpuhosts.vllm.vllm_verify", "-a", "service=chat"),
    )
    assert done.rc != 0 and "paused" in done.text and time.monotonic() - began < 60, done.text
    host.run("docker unpause vllm-chat")
    chat.proves()
    host.run("docker pause vllm-chat")
    began = time.monotonic()
    host.run("systemctl stop vllm-chat")
    assert time.monotonic() - began < 15
    assert chat.start(seq)["ending"] == "stopped"


def test_a_container_that_is_restarted_or_started_past_systemd_is_not_a_second_engine(chat, host):
    seq = served(chat)
    host.run("docker restart vllm-chat")
    assert chat.serving_after(seq) == seq + 1
    assert chat.start(seq)["ending"] == "stopped_in_docker"
    chat.proves()
    host.run("systemctl stop vllm-chat")
    assert host.run("docker start vllm-chat 2>&1 || true").startswith("Error response from daemon: No such container")
    assert chat.active() == "inactive"


def test_a_renamed_container_is_still_the_services(chat, host):
    seq = served(chat)
    host.run("docker rename vllm-chat mine")
    assert "mine" in chat.status(), chat.status()
    host.run("systemctl restart vllm-chat")
    assert chat.start(seq)["ending"] == "stopped"
    chat.proves()


@pytest.fixture
def squatter(host):
    """Give a function that runs somebody else's container; it is gone afterwards."""

    def run(*options):
        host.run(f"docker run -d {' '.join(options)} --entrypoint sleep lab/vllm-standin:v0.32.0 600")

    yield run
    host.run("docker ps -aq --filter label=squatter | xargs -r docker rm -f")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--label squatter", "--name vllm-chat"), ("container named vllm-chat", "docker rename vllm-chat NAME")),
        (("--label squatter", "--name web", "-p 127.0.0.1:8000:80"), ("port 8000", "the container web")),
    ],
    ids=["name", "port"],
)
def test_who_took_the_name_or_the_port_is_named(options, named, chat, host, squatter):
    served(chat)
    host.run("systemctl stop vllm-chat")
    squatter(*options)
    seq = chat.newest()
    host.run("systemctl start vllm-chat", check=False)
    host.run("systemctl stop vllm-chat")
    known = chat.start(seq + 1)
    assert known["ending"] == "never_ran", known
    for words in named:
        assert words in known["ending_reason"] and words in chat.status(), known
    played = chat.play("start", vllm_confirm="chat")
    assert played.rc != 0, played.text
    for words in named:
        assert words in played.text, played.text


def test_a_port_that_a_process_took_is_named_too(chat, host):
    served(chat)
    host.run("systemctl stop vllm-chat")
    host.run("systemd-run --quiet --collect --unit squatter python3 -m http.server --bind 127.0.0.1 8000")
    assert host.wait("ss -Hltn 'sport = :8000' | wc -l", "1", seconds=10)
    seq = chat.newest()
    host.run("systemctl start vllm-chat", check=False)
    host.run("systemctl stop vllm-chat squatter")
    known = chat.start(seq + 1)
    assert known["ending"] == "never_ran" and "python3 (pid" in known["ending_reason"], known


def test_a_disabled_unit_runs_on_and_plan_says_that_it_would_not_come_back(chat, host):
    served(chat)
    host.run("systemctl disable vllm-chat")
    played = chat.play("plan")
    assert "systemctl enable vllm-chat" in played.text, played.text
    assert "systemctl enable vllm-chat" in chat.status(), chat.status()
    host.run("systemctl enable vllm-chat")
    assert "systemctl enable" not in chat.status()


def test_a_masked_unit_is_named_with_the_command_that_ends_it_and_one_that_is_gone_is_written_again(chat, host):
    served(chat)
    host.run("systemctl stop vllm-chat; rm /etc/systemd/system/vllm-chat.service; systemctl mask vllm-chat")
    played = chat.play("start", vllm_confirm="chat")
    assert played.rc != 0 and "systemctl unmask vllm-chat" in played.text, played.text
    assert "systemctl unmask vllm-chat" in chat.status(), chat.status()
    host.run("systemctl unmask vllm-chat")
    played = chat.play("deploy")
    assert played.rc == 0 and "no error" in played.text, played.text
    chat.proves()


def test_what_the_playbook_stopped_stays_stopped_and_says_why(chat, host):
    seq = served(chat)
    played = chat.play("stop", vllm_confirm="chat")
    assert played.rc == 0, played.text
    known = chat.start(seq)
    assert known["ending"] == "stopped" and known["ending_reason"].startswith("the run stop-"), known
    host.run("systemctl start vllm-chat")
    assert chat.active() == "inactive"
    assert "ansible-playbook gpuhosts.vllm.start -e vllm_confirm=chat" in chat.status(), chat.status()
    assert "/var/lib/gpuhosts-vllm/chat/stopped" in host.run("systemctl status vllm-chat || true")
    for event in (host.reboot, host.power_cut):
        event()
        assert host.wait("systemctl is-active docker", "active", seconds=60)
        assert host.wait("systemctl is-active multi-user.target", "active", seconds=60)
        assert chat.active() == "inactive"
    host.run("systemctl restart docker")
    assert chat.active() == "inactive" and chat.newest() == seq
    played = chat.play("start", vllm_confirm="chat")
    assert played.rc == 0, played.text


def records(host, name):
    """Give the records of a service's journal."""
    text = host.run(f"cat /var/lib/gpuhosts-vllm/{name}/journal.jsonl 2>/dev/null || true")
    return [json.loads(line) for line in text.splitlines()]


BY_SOMEBODY = "somebody stopped or restarted vllm-second.service"
SLOW = {"STANDIN_START_SECONDS": "20", "STANDIN_WARM_SECONDS": "20"}


@pytest.fixture
def second(chat, lab):
    """A second service beside the first, slow enough for its first start to be disturbed."""
    assert lab[HOST] is chat.host
    served(chat)
    chat.inventory.declare({"chat": service(env=ENV), "second": service(env=SLOW, port=8001)})
    yield Committed(chat.host, chat.inventory, name="second")
    chat.inventory.declare({"chat": service(env=ENV)})


def deployed(second, *commands):
    """Deploy and disturb each start of the run once it loads; how the play ended, what it said, how the run ended."""
    before = second.newest()
    controller = begin(second.inventory, "deploy")
    for command in commands:
        before = second.loading_after(before, seconds=300)
        second.host.run(command)
    rc = controller.wait(timeout=300)
    return rc, (second.inventory.folder / "began").read_text(), records(second.host, "second")[-1]["state"]


def test_a_run_whose_unit_is_stopped_in_mid_gate_names_that_and_goes_back(second):
    rc, said, end = deployed(second, "systemctl stop vllm-second")
    assert (rc == 0, end) == (False, "rolled_back"), said
    assert BY_SOMEBODY in said and "begin again with: ansible-playbook gpuhosts.vllm.deploy" in said, said
    assert second.active() == "inactive"
    assert second.start(second.newest())["ending"] == "stopped"


def test_a_run_whose_unit_is_restarted_in_mid_gate_goes_on_and_names_that(second, chat):
    """systemd does the job of the start again, so a restart by hand and one of Docker only make the run longer."""
    rc, said, end = deployed(second, "systemctl restart --no-block vllm-second", "systemctl restart docker")
    assert (rc, end) == (0, "committed"), said
    assert BY_SOMEBODY in said, said
    newest = second.newest()
    assert [second.start(newest - each)["ending"] for each in (2, 1)] == ["stopped", "docker_stopping"]
    wait_until("chat serves", lambda: chat.active() == "active", 60)
