"""Parts of the stand-in engine and of its host die at every moment: nothing is orphaned, no reason is lost.

The tests go on from where the one before them ended: four services are deployed once, and what was done to one of them
must not show in another.
"""

from __future__ import annotations

import statistics
import time

import pytest

from tests.integration.deaths import (
    CLIENT,
    DOCKERD,
    ENGINE,
    FIRST,
    LOADING,
    SERVER,
    SERVING,
    STATE,
    WORKER,
    Death,
    die,
    judge,
    load_again,
    main_ended,
    moment,
    newest,
    pid_of,
    serves,
    show,
    state_of,
    strike,
    tell,
    telling,
    until,
)
from tests.integration.harness import Inventory, service

HOST = "gpu2"
STANDIN = "stand-in 0.32.0"
PORTS = {"engine": 8001, "worker": 8002, "server": 8003, "client": 8004}
VICTIMS = {"engine": ENGINE, "worker": WORKER, "server": SERVER, "client": CLIENT}
TWO = {"served-model-name": ["chat"], "max-model-len": 1024, "tensor-parallel-size": 2}
SLOW = {"STANDIN_START_SECONDS": "5", "STANDIN_WARM_SECONDS": "5", "STANDIN_DEATH_SECONDS": "1"}
QUICK = {"soak": "0s", "silence": "30s"}

# Starts that die by themselves: the stage and the words that must reach whoever deploys.
FAILING = {
    "arguments": "unrecognized arguments: --no-such-option",
    "config": "ValueError: Model architectures ['NoSuch'] are not supported for now.",
    "load": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "profile": "RuntimeError: CUDA error: device-side assert triggered",
    "serve": "ValueError: To serve at least one request with the models's max seq len (1024), 8.00 GiB is needed",
}
# Starts that are cut off: who dies in the first load, and that of its Docker first of all, for it ends the others too.
FIRST_LOADS = {"a-dockerd": DOCKERD, "b-engine": ENGINE, "c-server": SERVER, "d-client": CLIENT}
GATE = "python3 .*vllm-host wait-ready {}$"
STUBBORN = {"STANDIN_NEVER_READY": "1", "STANDIN_TERM": "always"}


def standin(port, env, **changes):
    """A service of the stand-in."""
    return service(**{"port": port, "env": env, "config": TWO, "shm_size": "1g", "gate": QUICK, **changes})


@pytest.fixture(autouse=True)
def shown(capsys):
    """Print the rows of a test at its end, passed or not."""
    yield
    show(capsys)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, lab, standin_lock):
    """Deploy the four services that the rows are about."""
    lab[HOST].reset()
    services = {name: standin(port, SLOW) for name, port in PORTS.items()}
    inventory = Inventory.make(tmp_path_factory.mktemp("deaths"), services, hosts=(HOST,), lock=standin_lock)
    played = inventory.play("deploy")
    assert played.rc == 0, played.text
    return inventory


@pytest.fixture
def failing(tmp_path, fleet, lab):
    """Give a function that makes an inventory of other services of the same host."""

    def make(services):
        return Inventory.make(tmp_path, services, hosts=(HOST,), lock=fleet.folder / "vllm.lock.yml")

    return make


def down(host, name):
    """Whether nothing of a service is left but its evidence."""
    assert host.run(f"systemctl is-active vllm-{name}", check=False) == "inactive"
    assert host.run(f"docker ps -aq --filter label=io.gpuhosts.vllm.service={name}") == ""
    assert host.run(f"readlink {STATE}/{name}/current {STATE}/{name}/last_good", check=False) == ""
    return True


def until_loading(host, name):
    """Wait until the gate of a service has seen that its engine loads."""
    shown = f"systemctl show -p StatusText --value vllm-{name}"
    until(f"{name}: loading", 180, lambda: "loading weights" in host.run(shown))


@pytest.mark.parametrize("when", [SERVING, LOADING])
def test_a_part_of_the_engine_dies(fleet, lab, when):
    deaths = [Death(STANDIN, name, who, when) for name, who in VICTIMS.items()]
    die(lab[HOST], deaths, PORTS)
    assert all(0 < death.noticed < 30 for death in deaths), deaths


@pytest.mark.parametrize("when", [SERVING, LOADING])
def test_dockerd_dies(fleet, lab, when):
    die(lab[HOST], [Death(STANDIN, "engine", DOCKERD, when)], PORTS)
    for name, port in PORTS.items():
        until(f"{name}: serving", 60, lambda n=name, p=port: serves(lab[HOST], n, p))


def test_parts_die_in_the_load_of_a_first_start(failing, lab):
    """It is taken back with the right reason and nothing is left, or serves when only Docker had been away."""
    inventory = failing({name: standin(8011 + at, SLOW) for at, name in enumerate(FIRST_LOADS)})
    deaths = [Death(STANDIN, name, who, FIRST) for name, who in FIRST_LOADS.items()]
    lab[HOST].run("systemctl reset-failed")  # Docker has died on purpose before: this one is not to be too many
    with telling(inventory, "deploy") as told:
        strike(lab[HOST], deaths, settle=0.3)
        assert told.end(240) != 0, told.text
    for death in deaths:
        judge(lab[HOST], death)
        recovered = death.who == DOCKERD and serves(lab[HOST], death.service, 8011)
        if not recovered:  # Docker came back in time to bring its start along
            assert down(lab[HOST], death.service)
            assert told.when(f"first start of {death.service} ", "was taken back", death.start["reason"]), told.text


def test_a_start_that_dies_is_told_at_once_and_in_its_own_words(failing, lab):
    services = {
        f"x-{stage}": standin(8021 + at, {"STANDIN_EXIT_AT": stage, "STANDIN_ERROR": error}, gate=QUICK)
        for at, (stage, error) in enumerate(FAILING.items())
    }
    gate, play = [], []
    with telling(failing(services), "deploy") as told:
        assert told.end(240) != 0, told.text
    for stage, error in FAILING.items():
        name = f"x-{stage}"
        known, ended = newest(lab[HOST], name), main_ended(lab[HOST], name)
        assert (known["seq"], known["verdict"], known["ending"]) == (1, "dead", "engine_ended"), known
        assert error in known["first_error"] and error in known["reason"] and error in known["ending_reason"], known
        gate.append(moment(known["verdict_at"]) - ended)
        play.append(told.when(error) - ended)
        tell(f"{STANDIN}: dies at {stage:<10} verdict after {gate[-1]:.2f} s, in the play after {play[-1]:.2f} s")
        assert down(lab[HOST], name)
    assert "root cause" not in told.text
    assert statistics.median(gate) <= 1.0 and statistics.median(play) <= 3.0, (gate, play)


def test_the_gate_ends_what_will_never_serve(failing, lab):
    """One is silent, one moves for ever, one has its gate killed, and one is stopped as a debugger stops it."""
    silent, late = {"soak": "0s", "silence": "4s"}, {"soak": "0s", "silence": "4s", "deadline": "12s"}
    services = {
        "g-silent": standin(8031, {**STUBBORN, "STANDIN_PROGRESS": "0"}, gate=silent),
        "h-late": standin(8032, STUBBORN, gate=late),
        "i-gateless": standin(8033, STUBBORN, gate=QUICK),
        "j-frozen": standin(8034, STUBBORN, gate=silent),
    }
    with telling(failing(services), "deploy") as told:
        until_loading(lab[HOST], "i-gateless")
        lab[HOST].run(f"kill -KILL {pid_of(lab[HOST], GATE.format('i-gateless'))}")
        until_loading(lab[HOST], "j-frozen")
        inside = "grep -l docker-$(cat /run/gpuhosts-vllm/j-frozen/cid) /proc/[0-9]*/cgroup | cut -d/ -f3"
        lab[HOST].run(f"kill -STOP $({inside})", check=False)
        assert told.end(240) != 0, told.text
    expected = {
        "g-silent": ("silent", "gate_silent", "no progress for 4 s at the stage 'loading weights'"),
        "h-late": ("late", "gate_late", "not ready within the hard deadline of 12 s at the stage 'loading weights"),
        "i-gateless": ("cut_off", "gate_killed", "its gate was killed"),
        "j-frozen": ("silent", "gate_silent", "no progress for 4 s at the stage 'loading weights'"),
    }
    for name, (verdict, ending, reason) in expected.items():
        known = newest(lab[HOST], name)
        assert (known["seq"], known["verdict"], known["ending"]) == (1, verdict, ending), known
        assert reason in known["reason"] and known["exit_code"] == 137, known
        assert told.when(f"first start of {name} ", "was taken back", reason), told.text
        assert down(lab[HOST], name)
    known = newest(lab[HOST], "h-late")
    assert moment(known["verdict_at"]) - moment(known["begun_at"]) >= 12


SHORTER = "/run/systemd/system/vllm-client.service.d"

# Kills one service whenever it is ready, and another one whenever it loads; past Docker, which would know.
KILLER = """
end_engine() {
  first=$(docker inspect -f "{{.State.Pid}}" vllm-$1)
  if [ "${first:-0}" -gt 0 ]; then kill -KILL $(pgrep -P $first); fi
}
while [ ! -e /run/lab-kill-end ]; do
  if systemctl is-active -q vllm-engine; then end_engine engine; fi
  if docker logs vllm-worker 2>&1 | grep -q "Starting to load model"; then end_engine worker; fi
  sleep 0.3
done
"""


def test_crash_loops_end_and_so_does_a_start_whose_gate_hangs(fleet, lab):
    """Side by side, for each takes minutes: one dies when it is ready, one in its load, and one is never judged.

    The limit of systemd is made short; what the gate asked for before it hung counts: its silence and a minute.
    """
    host = lab[HOST]
    host.run("systemctl reset-failed; rm -f /run/lab-kill-end")
    host.run(f"mkdir -p {SHORTER}; printf '[Service]\\nTimeoutStartSec=20\\n' > {SHORTER}/short.conf")
    host.run("systemctl daemon-reload")
    bystander = host.run("systemctl show -p InvocationID --value vllm-server")
    began, frozen = time.monotonic(), load_again(host, ["client"])["client"] + 1
    until_loading(host, "client")
    host.run(f"kill -STOP {pid_of(host, GATE.format('client'))}")
    host.run("systemctl stop vllm-worker")
    firsts = {"engine": newest(host, "engine")["seq"], "worker": newest(host, "worker")["seq"] + 1}
    host.run(f"systemd-run --quiet --collect --unit lab-kill sh -c '{KILLER}'; systemctl start --no-block vllm-worker")
    try:
        for name in firsts:
            failed = f"systemctl is-failed vllm-{name}"
            until(f"{name}: given up", 300, lambda f=failed: host.run(f, check=False) == "failed")
    finally:
        host.run("touch /run/lab-kill-end")
    loops = time.monotonic() - began
    for name, first in firsts.items():
        assert_given_up(host, name, first)
    assert host.run("systemctl show -p InvocationID --value vllm-server") == bystander
    assert serves(host, "server", PORTS["server"])
    assert_first_failures_are_shown(fleet, host, firsts)

    until("the gate that hangs: the next start", 260, lambda: newest(host, "client")["seq"] > frozen)
    hung = time.monotonic() - began
    known = state_of(host, "client", frozen)
    assert (known["ending"], known["verdict"], known["service_result"]) == ("timed_out", "cut_off", "timeout"), known
    assert "systemd's own limit" in known["reason"], known
    assert 80 < hung < 180
    host.run(f"rm -r {SHORTER}; systemctl daemon-reload")
    until("client: serving", 60, lambda: serves(host, "client", PORTS["client"]))
    tell(f"{STANDIN}: crash loops given up after {loops:.0f} s, a start whose gate hangs ended after {hung:.0f} s")

    started = fleet.play("start", vllm_confirm="engine,worker")
    assert started.rc == 0, started.text
    proven = fleet.play("verify")
    assert proven.rc == 0, proven.text


def assert_given_up(host, name, first):
    """The start limit ended a crash loop, and that did no harm."""
    assert "Start request repeated too quickly" in host.run(f"journalctl -u vllm-{name} -n 20 -o cat")
    assert host.run(f"docker ps -aq --filter label=io.gpuhosts.vllm.service={name}") == ""
    starts = newest(host, name)["seq"] - first
    assert 4 <= starts <= 6, starts
    assert int(host.run(f"du -sk {STATE}/{name}/starts").split()[0]) < 2048
    assert state_of(host, name, first)["ending"] == "killed"


def assert_first_failures_are_shown(fleet, host, firsts):
    """By the host's own tool, the plan and a deployment, which changes nothing."""
    for name, first in firsts.items():
        status = host.run(f"vllm-host status {name}", check=False)
        assert f"failed first at start {first}: " in status, status
    plan, deploy = fleet.play("plan"), fleet.play("deploy")
    assert (deploy.rc != 0, deploy.changes(HOST)) == (True, 0), deploy.text
    for name, first in firsts.items():
        known = state_of(host, name, first)
        reason = known["ending_reason"] if known["ready"] else known["reason"]
        assert reason in plan.text and reason in deploy.text, (name, reason, plan.text, deploy.text)
