"""Hosts that restart, in an orderly way and by a power cut: what was committed boots, what was cut off is ended.

No playbook helps: after a boot the host is on its own. Times are taken by the clock of the machine around the lab.
"""

from __future__ import annotations

import contextlib
import json
import time
from datetime import datetime, timezone

import pytest

from tests.integration.harness import Inventory, begin, end, service
from tests.lab import engine, hosts

HOST = "gpu2"
STATE = "/var/lib/gpuhosts-vllm"
BOOT_SECONDS = 30
# Slow enough to be cut off in the middle.
SLOW = {"STANDIN_START_SECONDS": "8", "STANDIN_WARM_SECONDS": "1"}
# Keeps a request going through a stop. By its name it is a secret, so it goes the way of one.
SLOW_ANSWERS = {"chat": {"STANDIN_TOKEN_SECONDS": "0.10000001"}}
ENDS = {"reboot": "host_stopping", "power_cut": "host_lost"}
RESUME = "gpuhosts-vllm-resume"
LONG_REQUEST = (
    "systemd-run --quiet --collect curl -s -m 110 http://127.0.0.1:8000/v1/completions "
    """-H 'Content-Type: application/json' -d '{"model": "chat", "prompt": "Hello", "max_tokens": 1000}'"""
)


class Life:
    """One host with one service, and the way in which it restarts."""

    def __init__(self, how, host, inventory):
        self.how = how
        self.host = host
        self.inventory = inventory

    def restart(self):
        restart(self.host, self.how)

    def play(self, verb, **extra):
        played = self.inventory.play(verb, **extra)
        assert played.rc == 0, played.text
        return played


@pytest.fixture(scope="module", params=["reboot", "power_cut"])
def life(request, tmp_path_factory, lab, standin_lock):
    """Begin with an empty host and the inventory of one service; the tests of one life go on from each other."""
    lab[HOST].reset()
    folder = tmp_path_factory.mktemp(request.param)
    inventory = Inventory.make(
        folder, {"chat": service(env=SLOW)}, hosts=(HOST,), lock=standin_lock, vllm_secrets=SLOW_ANSWERS
    )
    return Life(request.param, lab[HOST], inventory)


def restart(host, how):
    """Restart the host, and look how long it took from its boot to multi-user.target."""
    getattr(host, how)()
    until = time.monotonic() + 2 * BOOT_SECONDS
    while host.run("systemctl is-active multi-user.target", check=False) != "active":
        assert time.monotonic() < until, "multi-user.target never came"
        time.sleep(0.1)
    ended = datetime.now(timezone.utc)
    began = hosts.running(engine.client(), host.real).attrs["State"]["StartedAt"]
    seconds = (ended - datetime.fromisoformat(began[:19] + "+00:00")).total_seconds()
    print(f"{how}: multi-user.target {seconds:.1f} s after the boot")
    assert seconds <= BOOT_SECONDS
    assert host.wait(
        f"systemctl show -P ActiveState {RESUME}; systemctl show -P ConditionResult {RESUME}",
        "inactive\nyes",
        seconds=60,
    ), host.run(f"systemctl status {RESUME}", check=False)
    assert host.run(f"systemctl show -P Result -P ExecMainStatus {RESUME}").split() == ["success", "0"]


@contextlib.contextmanager
def begun(inventory, verb):
    """Run a playbook that is killed at the end of the block."""
    controller = begin(inventory, verb)
    try:
        yield
    finally:
        end(controller)


def journal(host, name="chat"):
    """The records of a service's journal."""
    return [json.loads(line) for line in host.run(f"cat {STATE}/{name}/journal.jsonl 2>/dev/null; true").splitlines()]


def numbers(host, name="chat"):
    """The numbers of the starts that are kept."""
    return sorted(int(number) for number in host.run(f"ls {STATE}/{name}/starts").split())


def start(host, number, name="chat"):
    """What the host kept of a start."""
    return json.loads(host.run(f"cat {STATE}/{name}/starts/{number}/state.json"))


def newest(host, name):
    """What the host kept of the newest start."""
    return start(host, numbers(host, name)[-1], name)


def until(host, state, phase):
    """Wait until a run has come this far, however busy the machine is."""
    last = time.monotonic() + 300
    while time.monotonic() < last:
        records = journal(host)
        if records and [records[-1]["state"], records[-1]["phase"]] == [state, phase]:
            return
        time.sleep(0.2)
    raise AssertionError(f"the run never came to {state}: {journal(host)}")


def test_a_first_start_that_a_restart_cut_off_is_ended_by_the_host_alone(life):
    host = life.host
    with begun(life.inventory, "deploy"):
        until(host, "starting", "intent")
        assert host.wait("docker ps -q | wc -l", "1", seconds=30)
    life.restart()
    last = journal(host)[-1]
    assert [last["state"], last["phase"]] == ["rolled_back", "done"], journal(host)
    assert "the host restarted" in last["message"], last
    assert host.run("systemctl is-active vllm-chat; true") == "inactive"
    assert host.run("docker ps -aq") == ""
    assert host.run(f"readlink {STATE}/chat/current {STATE}/chat/last_good; true") == ""
    known = start(host, 1)
    assert (known["ready"], known["verdict"]) == (False, "cut_off"), known
    assert known["ending"] == ENDS[life.how] and known["ending_reason"], known


def test_the_next_deploy_starts_it(life):
    life.play("deploy")
    assert [record["state"] for record in journal(life.host)][-1] == "committed"
    assert numbers(life.host) == [1, 2]


def test_what_was_committed_boots_by_itself_and_nothing_else_happens(life):
    host, before = life.host, journal(life.host)
    life.restart()
    assert host.wait("systemctl is-active vllm-chat", "active", seconds=60)
    assert journal(host) == before
    assert start(host, 2)["ending"] == ENDS[life.how]
    assert (numbers(host), start(host, 3)["ready"]) == ([1, 2, 3], True)
    assert host.run("vllm-host resume") == ""
    assert journal(host) == before


def test_a_stop_that_a_restart_cut_off_is_carried_through(life):
    host = life.host
    host.run(LONG_REQUEST)
    assert host.wait(
        "curl -s http://127.0.0.1:8000/metrics | grep -c '^vllm:num_requests_running.* 1.0'", "1", seconds=10
    )
    life.inventory.declare({"chat": service(env=SLOW)}, vllm_secrets=SLOW_ANSWERS, vllm_confirm="chat")
    with begun(life.inventory, "stop"):
        until(host, "draining", "intent")
    life.restart()
    records = journal(host)
    assert [records[-1][key] for key in ("kind", "state", "phase")] == ["stop", "committed", "done"], records
    assert len({record["run"] for record in records}) == 3
    assert_stopped(host)
    host.run("systemctl restart docker")
    assert host.wait(f"systemctl show -P ActiveState {RESUME}", "inactive", seconds=60)
    assert_stopped(host)
    life.restart()
    assert_stopped(host)
    assert journal(host) == records


def assert_stopped(host):
    assert host.run("systemctl is-active vllm-chat; true") == "inactive"
    assert host.run(f"docker ps -aq; cat {STATE}/chat/stopped | wc -l") == "1"
    assert numbers(host) == [1, 2, 3]


def test_the_units_are_ones_that_systemd_takes(life):
    files = f"/etc/systemd/system/vllm-chat.service /etc/systemd/system/{RESUME}.service"
    assert life.host.run(f"systemd-analyze verify {files} 2>&1") == ""
    assert life.host.run(f"systemctl show -P Before {RESUME}").split().count("vllm-chat.service") == 1
    assert "multi-user.target" not in life.host.run(f"systemctl show -P Before {RESUME}")


LOADS = {"env": {"STANDIN_WARM_SECONDS": "5"}, "gate": {"soak": "1s", "silence": "120s"}}
ON_GPUS = {
    "one": service(port=8001, gpus=["0"], gpus_shared=True, **LOADS),
    "two": service(port=8002, gpus=["0"], gpus_shared=True, **LOADS),
    "other": service(port=8003, gpus=["1"], **LOADS),
}
WAITS = "waiting for the start of {} (GPU 0)"


@pytest.fixture(scope="module")
def shared(tmp_path_factory, lab, standin_lock):
    """Two services on one GPU and one on another."""
    host = lab[HOST]
    host.reset()
    inventory = Inventory.make(tmp_path_factory.mktemp("shared"), ON_GPUS, hosts=(HOST,), lock=standin_lock)
    played = inventory.play("deploy")
    assert played.rc == 0, played.text
    return host


def unit(host, name, what):
    """What systemd says of a service."""
    return host.run(f"systemctl show -P {what} vllm-{name}")


def assert_all_serve(host):
    for name in ON_GPUS:
        assert host.wait(f"systemctl is-active vllm-{name}", "active", seconds=180), host.run(
            "systemctl status --no-pager 'vllm-*'", check=False
        )


def pair_in_turn(host):
    """Restart both services of GPU 0, and say who holds it and who waits, once that can be seen."""
    host.run("systemctl restart --no-block vllm-one vllm-two")
    last = time.monotonic() + 120
    while time.monotonic() < last:
        for holds, waits in (("one", "two"), ("two", "one")):
            if unit(host, waits, "StatusText") == WAITS.format(holds) and unit(host, holds, "SubState") == "start-post":
                return holds, waits
        time.sleep(0.1)
    raise AssertionError(host.run("systemctl status --no-pager 'vllm-*'", check=False))


def loading(host, name):
    """When the engine that serves was started, and when it was ready."""
    began = host.run(f"docker inspect -f '{{{{.State.StartedAt}}}}' vllm-{name}")
    return moment(began), moment(newest(host, name)["ready_at"])


def moment(text):
    """A time as Docker or the journal writes it."""
    return datetime.fromisoformat(text[:23].rstrip("Z") + "+00:00")


@pytest.mark.parametrize("how", ["power_cut", "reboot"])
def test_after_a_boot_services_of_one_gpu_load_one_after_another_and_others_at_once(shared, how):
    restart(shared, how)
    assert_all_serve(shared)
    spans = {name: loading(shared, name) for name in ON_GPUS}
    first, second = sorted(("one", "two"), key=spans.__getitem__)
    assert spans[first][1] < spans[second][0], spans
    assert spans["other"][0] < spans[first][1], spans
    known = newest(shared, second)
    print({name: [str(each.time()) for each in span] for name, span in spans.items()}, known["waited_seconds"])
    assert known["waited_for"] == f"{first} (GPU 0)" and known["waited_seconds"] > 4
    assert (moment(known["ready_at"]) - moment(known["begun_at"])).total_seconds() == pytest.approx(
        known["ready_seconds"], abs=2
    )
    assert not [name for name in (first, "other") if "waited_for" in newest(shared, name)]


def test_a_wait_outlasts_the_unit_s_own_limit(shared):
    folders = [f"/etc/systemd/system/vllm-{name}.service.d" for name in ("one", "two")]
    for folder in folders:
        shared.run(f"mkdir {folder}; printf '[Service]\\nTimeoutStartSec=20\\n' > {folder}/lab.conf")
    shared.run("systemctl daemon-reload")
    try:
        holds, waits = pair_in_turn(shared)
        before = numbers(shared, waits)
        shared.run(f"timeout 60 sh -c 'until docker pause vllm-{holds}; do sleep 0.2; done'")
        time.sleep(25)
        assert unit(shared, waits, "StatusText") == WAITS.format(holds)
        shared.run(f"docker unpause vllm-{holds}")
        assert_all_serve(shared)
    finally:
        shared.run(f"rm -r {' '.join(folders)}; systemctl daemon-reload")
    assert numbers(shared, waits) == before
    assert newest(shared, waits)["waited_seconds"] > 25


def test_a_start_that_is_stopped_while_it_waits_has_an_ending(shared):
    holds, waits = pair_in_turn(shared)
    shared.run(f"systemctl stop vllm-{waits}")
    known = newest(shared, waits)
    assert known["ending"] == "stopped" and "begun_at" not in known, known
    shared.run(f"systemctl start --no-block vllm-{waits}")
    assert_all_serve(shared)
    assert newest(shared, waits)["waited_for"] == f"{holds} (GPU 0)"


@pytest.mark.parametrize("killed", ["who waits", "who holds"])
def test_a_start_that_is_killed_blocks_nobody(shared, killed):
    holds, waits = pair_in_turn(shared)
    victim, lives = (waits, holds) if killed == "who waits" else (holds, waits)
    number = numbers(shared, victim)[-1]
    shared.run(f"kill -9 {unit(shared, victim, 'ControlPID')}")
    at = time.monotonic()
    assert shared.wait(f"systemctl is-active vllm-{lives}", "active", seconds=60)
    print(f"{killed} was killed: the other served {time.monotonic() - at:.1f} s later")
    assert_all_serve(shared)
    assert start(shared, number, victim)["ending"], start(shared, number, victim)
    assert start(shared, number, victim)["fault"] is True
