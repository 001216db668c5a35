"""The oracle that judges hosts after every test names each thing that is wrong, and nothing where nothing is."""

from __future__ import annotations

import pytest

from tests.integration.harness import STANDIN, Inventory, service
from tests.oracle.legal import look, violations

HOST = "gpu2"
STATE, RUN, SECRETS = (f"{top}/gpuhosts-vllm/chat" for top in ("/var/lib", "/run", "/etc"))
SLEEPS = f"--entrypoint /bin/sleep {STANDIN} 600"
EDIT = "import json,sys; p=sys.argv[1]; d=json.load(open(p)); exec(sys.argv[2]); json.dump(d, open(p, 'w'))"
FOREIGN = "import socket,time; s=socket.create_server(('127.0.0.2', 8000)); time.sleep(600)"


def edit(path, change):
    """Give a command that changes a JSON file, and keeps the first one beside it."""
    return f'cp -p {path} {path}.kept; python3 -c "{EDIT}" {path} "{change}"'


def background(command, ready):
    """Give a command that starts another one, to be ended by its unit, and waits until it is there."""
    return (
        f"systemd-run --quiet --unit=lab-planted -- {command}; for _ in $(seq 50); do {ready} && break; sleep 0.1; done"
    )


def put_back(path):
    """Give the command that undoes `edit`."""
    return f"mv -f {path}.kept {path}"


FIRST, SECOND = f"{STATE}/starts/1/state.json", f"{STATE}/starts/2/state.json"
END_PLANTED = "systemctl stop lab-planted"
REMOVE_PLANTED = "docker rm -f planted vllm-planted"

# What is planted, the commands that plant it and undo it, and what the oracle has to say of it.
PLANTS = {
    "a container of a service that is not here": (
        f"docker create --name planted --label io.gpuhosts.vllm.service=ghost {SLEEPS}",
        REMOVE_PLANTED,
        ["host: container planted (", "has the label of ghost", "is created"],
    ),
    "a second container": (
        f"docker run -d --name planted --label io.gpuhosts.vllm.service=chat {SLEEPS}",
        REMOVE_PLANTED,
        ["chat: has 2 containers: ", "chat: its unit is active with 2 running containers"],
    ),
    "a container with the name of a service": (
        f"docker run -d --name vllm-planted {SLEEPS}",
        REMOVE_PLANTED,
        ["host: container vllm-planted (", "has the name of a service and not its label"],
    ),
    "a probe": (
        f"docker run -d --name planted --label io.gpuhosts.vllm.probe=chat {SLEEPS}",
        REMOVE_PLANTED,
        ["host: container planted (", "is a left-over probe of chat"],
    ),
    "another invocation": (
        edit(SECOND, "d.update(invocation_id='0'*32)"),
        put_back(SECOND),
        ["chat: its unit's InvocationID is ", f"the newest start has {'0' * 32}"],
    ),
    "another container id": (
        edit(SECOND, "d.update(container_id='0'*64)"),
        put_back(SECOND),
        ["chat: container ", "the newest start's container_id is 000000000000"],
    ),
    "another cid file": (
        f"mv {RUN}/cid {RUN}/cid.kept; echo 123 > {RUN}/cid",
        put_back(f"{RUN}/cid"),
        ["chat: container ", "/run/.../cid is 123"],
    ),
    "a foreign listener": (
        background(f'python3 -c "{FOREIGN}"', "ss -Hltn 'sport = 8000' | grep -q 127.0.0.2"),
        END_PLANTED,
        ["chat: port 8000 is listened on by process ", "python3", "chat: port 8000 is open at 127.0.0.2"],
    ),
    "an engine process outside of all containers": (
        background(
            "bash -c 'LAB_GPU_0=void exec -a VLLM::EngineCore sleep 600'", "pgrep -f ^VLLM::EngineCore.*600 >/dev/null"
        ),
        END_PLANTED,
        ["host: process ", "(VLLM::EngineCore) belongs to no running", "host: GPU memory is held by process "],
    ),
    "a record torn in the middle": (
        f"cp -p {STATE}/journal.jsonl {STATE}/journal.jsonl.kept; sed -i '3s/.\\{{40\\}}$//' {STATE}/journal.jsonl",
        put_back(f"{STATE}/journal.jsonl"),
        ["chat: journal: line 3 is not a record"],
    ),
    "a run without an end": (
        f"cp -p {STATE}/journal.jsonl {STATE}/journal.jsonl.kept; sed -i '$d' {STATE}/journal.jsonl",
        put_back(f"{STATE}/journal.jsonl"),
        ["chat: journal: run first_start-", "has no end, its last record is committed intent"],
    ),
    "an open run": (
        f"echo first_start-1 > {RUN}/run",
        f"rm {RUN}/run",
        [f"chat: {RUN}/run says that first_start-1 is open"],
    ),
    "a lease that is held": (
        background(f"flock {RUN}/lease sleep 600", f"! flock -n {RUN}/lease true"),
        END_PLANTED,
        [f"host: {RUN}/lease is locked by a process"],
    ),
    "a driver": (
        "systemd-run --quiet --unit=gpuhosts-vllm-run-chat sleep 600",
        "systemctl stop gpuhosts-vllm-run-chat",
        ["host: the driver gpuhosts-vllm-run-chat.service is still there (active)"],
    ),
    "a start without an ending": (
        edit(FIRST, "[d.pop(key) for key in ('ending', 'ended_at', 'ending_reason', 'fault', 'exit_code')]"),
        put_back(FIRST),
        [f"chat: start 1: {line}" for line in ("is over and has no ended_at", "its ending is None", "has no ending_r")],
    ),
    "a start without its log": (
        f"mv {STATE}/starts/1/log {STATE}/starts/1/startup.json {STATE}",
        f"mv {STATE}/log {STATE}/startup.json {STATE}/starts/1",
        ["chat: start 1: had a container and kept no log", "chat: start 1: became ready and has no startup.json"],
    ),
    "a temporary file": (
        f"touch {STATE}/starts/1/.log.77.new",
        f"rm {STATE}/starts/1/.log.77.new",
        [f"host: left-over file {STATE}/starts/1/.log.77.new"],
    ),
    "the login of a pull": (
        "mkdir -p /run/gpuhosts-vllm-jobs/pull-1/secret && touch /run/gpuhosts-vllm-jobs/pull-1/secret/config.json",
        "rm -rf /run/gpuhosts-vllm-jobs/pull-1",
        ["host: left-over file /run/gpuhosts-vllm-jobs/pull-1/secret/config.json"],
    ),
    "a file that everybody may write to": (
        f"chmod o+w {STATE}/journal.jsonl",
        f"chmod o-w {STATE}/journal.jsonl",
        [f"host: everybody may write to {STATE}/journal.jsonl"],
    ),
    "secrets that everybody may read": (
        f"chmod 644 {SECRETS}/secrets",
        f"chmod 600 {SECRETS}/secrets",
        ["chat: its secrets file has the mode 644"],
    ),
    "a link to nowhere": (
        f"cp -P {STATE}/last_good {STATE}/kept; ln -sfn releases/rel-000000000000 {STATE}/last_good",
        f"mv -T {STATE}/kept {STATE}/last_good",
        [
            "chat: last_good points to releases/rel-000000000000, which is not there",
            "and committed is releases/rel-0000",
        ],
    ),
    "a release without its record": (
        f"mv {STATE}/current/args {STATE}/args",
        f"mv {STATE}/args {STATE}/current/args",
        ["chat: release rel-", "args is missing or empty"],
    ),
    "a service that runs and is marked as stopped": (
        f"touch {STATE}/stopped",
        f"rm {STATE}/stopped",
        ["chat: is marked as stopped, and its unit is active"],
    ),
}


@pytest.fixture(scope="module")
def served(tmp_path_factory, lab, standin_lock):
    """Deploy one service with a GPU and start it once more, so that one start is over and one goes on."""
    lab[HOST].reset()
    folder = tmp_path_factory.mktemp("oracle")
    played = Inventory.make(folder, {"chat": service(gpus="all")}, hosts=(HOST,), lock=standin_lock).play("deploy")
    assert played.rc == 0, played.text
    lab[HOST].run("systemctl restart vllm-chat")
    yield lab[HOST]
    lab[HOST].reset()


def seen(host, **allowed):
    """Look now, and judge."""
    return violations(look(host.infra, settle=2), **allowed)


def test_a_host_that_serves_is_legal_and_its_gpu_is_held(served):
    assert seen(served) == []
    assert {holder["name"] for holder in look(served.infra)["gpu"]} == {"VLLM::EngineCore"}


@pytest.mark.parametrize("what", PLANTS)
def test_each_violation_is_named(served, what):
    plant, undo, expected = PLANTS[what]
    try:
        served.run(plant)
        found = seen(served)
    finally:
        served.run(undo, check=False)
    assert [text for text in expected if not any(text in line for line in found)] == [], found


def test_an_engine_that_runs_while_its_unit_is_down_is_named(served):
    served.run("systemctl stop vllm-chat")
    assert seen(served) == []
    name, label = "--name vllm-chat", "--label io.gpuhosts.vllm.service=chat"
    served.run(f"docker run -d {name} {label} -p 127.0.0.1:8000:8000 {SLEEPS}")
    found = seen(served)
    served.run("docker rm -f vllm-chat && systemctl start vllm-chat")
    assert any("chat: its unit is inactive, and container " in line for line in found), found
    assert any("chat: its unit is inactive, and its port 8000 is listened on by process " in line for line in found)


def test_a_docker_that_is_down_is_named_unless_that_is_on_purpose(served):
    served.run("systemctl stop docker.service docker.socket")
    unexpected, expected = seen(served), seen(served, docker_up=False)
    served.run("systemctl start docker.service")
    contrary = seen(served, docker_up=False)
    assert unexpected == ["host: docker.service is inactive, and nobody said that it should be down"]
    assert expected == []
    assert "host: docker.service is active, and it was said to be stopped" in contrary
