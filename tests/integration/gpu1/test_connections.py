"""Real ssh that is killed, cut for a moment, cut for good, or goes to nobody; root works under a umask of 077."""

from __future__ import annotations

import contextlib
import json
import time

import pytest

from tests.integration.harness import Inventory, begin, end, service

HOST = "gpu1"
STATE = "/var/lib/gpuhosts-vllm/chat"
NO_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
SLOW = {"STANDIN_START_SECONDS": "4", "STANDIN_WARM_SECONDS": "4"}
SLOW_FAILURE = {**SLOW, "STANDIN_EXIT_AT": "serve", "STANDIN_ERROR": NO_MEMORY}
# ssh notices after four seconds without an answer; by itself it would wait for hours.
ALIVE = "-o ServerAliveInterval=2 -o ServerAliveCountMax=2"
QUIET = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
CUT = "the connection was cut, the work goes on on the host"
# An address of the lab's network that nobody has.
NOBODY = "10.212.0.250"

TIGHT = """
cp -a /etc/pam.d/sshd /root/pam-sshd
echo 'session optional pam_umask.so nousergroups umask=0077' >> /etc/pam.d/sshd
"""
AS_BEFORE = "[ ! -e /root/pam-sshd ] || mv /root/pam-sshd /etc/pam.d/sshd"


@pytest.fixture(scope="module", autouse=True)
def tight(lab):
    """Let root's connections have a umask of 077."""
    lab[HOST].run(AS_BEFORE)
    lab[HOST].run(TIGHT)
    yield
    lab[HOST].run(AS_BEFORE)
    lab[HOST].reset()


@pytest.fixture
def make(tmp_path, lab, standin_lock):
    """Give a function that makes an inventory of one service with this environment, on an empty host."""
    lab[HOST].reset()

    def inventory(env, **variables):
        services = {"chat": service(env=env, gate={"soak": "1s", "silence": "300s"})}
        return Inventory.make(tmp_path, services, hosts=(HOST,), lock=standin_lock, **variables)

    return inventory


@pytest.fixture
def controllers():
    """Give a function that begins to deploy; what still goes on at the end of a test is ended."""
    begun = []

    def deploy(inventory, *arguments):
        begun.append(begin(inventory, "deploy", *arguments))
        return begun[-1]

    yield deploy
    for controller in begun:
        if controller.poll() is None:
            end(controller)


def journal(host):
    """The records of the service's journal."""
    return [json.loads(line) for line in host.run(f"cat {STATE}/journal.jsonl 2>/dev/null || true").splitlines()]


def until(host, state, seconds=300):
    """Wait until a run has come to a state, and an engine is there; give the run's last record."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        records = journal(host)
        if records and records[-1]["state"] == state and (state != "starting" or host.run("docker ps -q")):
            return records[-1]
        time.sleep(0.2)
    raise AssertionError(f"the run never came to {state}: {journal(host)}")


def under_way(host):
    """What may not change while a start goes on: the run, the container, the count of starts."""
    return journal(host)[-1]["run"], host.run("docker ps -aq --no-trunc"), host.run(f"ls {STATE}/starts")


@contextlib.contextmanager
def held(host):
    """Let the engine that loads stand still, so that no start ends before what it is watched for."""
    host.run("docker pause vllm-chat")
    try:
        yield
    finally:
        host.run("docker unpause vllm-chat", check=False)


def said_by(inventory, controller, words, seconds=300):
    """Wait until a playbook that was begun says these words; give its text."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        text = (inventory.folder / "began").read_text()
        if words in text:
            return text
        assert controller.poll() is None, text
        time.sleep(0.2)
    raise AssertionError(f"it never said {words}: {text}")


@contextlib.contextmanager
def cut(host):
    """Let nothing of ssh in or out, and let it through again whatever happens."""
    rules = ("INPUT -p tcp --dport 22 -j DROP", "OUTPUT -p tcp --sport 22 -j DROP")
    try:
        for rule in rules:
            host.run(f"iptables -w -I {rule}")
        yield
    finally:
        for rule in rules:
            host.run(f"iptables -w -D {rule}", check=False)


def assert_it_serves(host, seen):
    """The very start that was under way became the service."""
    assert host.run("systemctl is-active vllm-chat") == "active"
    assert (journal(host)[-1]["run"], host.run("docker ps -aq --no-trunc"), host.run(f"ls {STATE}/starts")) == seen
    assert [journal(host)[-1][key] for key in ("state", "phase")] == ["committed", "done"]
    assert len({record["run"] for record in journal(host)}) == 1


@contextlib.contextmanager
def killed_in_mid_start(inventory, host, deploy):
    """Begin to deploy, and kill the controller while the engine loads; give what was under way, which is held."""
    controller = deploy(inventory)
    until(host, "starting")
    with held(host):
        end(controller)
        yield under_way(host)


def test_a_controller_that_is_killed_is_followed_by_the_next_one(make, lab, controllers):
    host = lab[HOST]
    inventory = make(SLOW, ansible_ssh_pipelining=True)
    with killed_in_mid_start(inventory, host, controllers) as seen:
        controller = controllers(inventory)
        said_by(inventory, controller, "is under way: following it to its end")
        assert under_way(host) == seen
    began = time.monotonic()
    controller.wait(timeout=300)
    said = (inventory.folder / "began").read_text()
    assert controller.returncode == 0 and "generated 8 tokens" in said, said
    assert_it_serves(host, seen)
    print(f"pipelining True: followed and reported in {time.monotonic() - began:.1f} s")


def test_who_comes_back_after_the_end_is_told_how_it_ended(make, lab, controllers):
    host = lab[HOST]
    inventory = make(SLOW, ansible_ssh_pipelining=False)
    with killed_in_mid_start(inventory, host, controllers) as seen:
        pass
    until(host, "committed")
    played = inventory.play("deploy")
    assert (played.rc, played.changes(HOST)) == (0, 0), played.text
    assert "unchanged: it runs what the inventory wants" in played.text and "generated 8 tokens" in played.text
    assert_it_serves(host, seen)
    # Root's umask is 077, and the one folder decides all the same.
    modes = host.run(f"stat -c %a {STATE}/.. {STATE} {STATE}/journal.jsonl {STATE}/current/run").split()
    assert modes == ["750", "755", "644", "755"]

    stopped = inventory.play("stop", vllm_confirm="chat")
    assert stopped.rc == 0, stopped.text
    started = inventory.play("start", vllm_confirm="chat")
    assert started.rc == 0 and "generated 8 tokens" in started.text, started.text
    times = {"deploy again": played, "stop": stopped, "start": started}
    print("pipelining False:", ", ".join(f"{name} {each.seconds:.1f} s" for name, each in times.items()))


def test_who_comes_back_after_a_failure_is_told_why(make, lab, controllers):
    host = lab[HOST]
    inventory = make(SLOW_FAILURE)
    with killed_in_mid_start(inventory, host, controllers) as (run, _container, _starts):
        pass
    assert until(host, "rolled_back")["run"] == run
    played = inventory.play("deploy")
    assert (played.rc != 0, played.changes(HOST)) == (True, 0), played.text
    assert NO_MEMORY in played.text and "-e vllm_retry=chat" in played.text
    assert len({record["run"] for record in journal(host)}) == 1
    assert host.run("docker ps -aq") == ""


def test_a_cut_in_mid_start_is_got_over_in_the_same_play_and_the_others_are_reported(
    make, lab, controllers, tmp_path, monkeypatch
):
    """A short cut shows nowhere; a long one ends ssh, and the play finds the run again. One host is never reached."""
    monkeypatch.setenv("ANSIBLE_TIMEOUT", "3")
    host = lab[HOST]
    inventory = make(SLOW, ansible_ssh_common_args=f"{QUIET} {ALIVE}")
    lost = {"all": {"children": {"vllm_servers": {"hosts": {"gone": {"ansible_host": NOBODY}}}}}}
    (tmp_path / "lost.json").write_text(json.dumps(lost))
    controller = controllers(inventory, "-i", str(tmp_path / "lost.json"))
    until(host, "starting")
    seen = under_way(host)
    with held(host):
        said_by(inventory, controller, "starting: ")
        with cut(host):
            time.sleep(1.5)
        time.sleep(3)
        said = (inventory.folder / "began").read_text()
        assert controller.poll() is None and CUT not in said, said
        with cut(host):
            said_by(inventory, controller, CUT)
    began = time.monotonic()
    controller.wait(timeout=300)
    said = (inventory.folder / "began").read_text()
    assert said.count(CUT) == 1 and "Traceback" not in said, said
    assert_it_serves(host, seen)
    assert "generated 8 tokens" in said
    assert "UNREACHABLE" in said and "gone" in said.rpartition("Deployment:")[2], said
    assert controller.returncode != 0
    print(f"followed to the end {time.monotonic() - began:.1f} s after the cut")


def test_a_host_that_is_cut_off_before_the_first_question_is_unreachable_and_nothing_else(make, lab, monkeypatch):
    monkeypatch.setenv("ANSIBLE_TIMEOUT", "3")
    inventory = make({}, ansible_ssh_common_args=f"{QUIET} {ALIVE}", ansible_ssh_args="-o ControlMaster=no")
    with cut(lab[HOST]):
        played = inventory.play("plan")
    assert played.rc != 0
    assert played.recap[HOST]["unreachable"] == 1 and "Traceback" not in played.text
    assert "UNREACHABLE!" in played.text and "onnection timed out" in played.text
    print(f"unreachable after {played.seconds:.1f} s")
