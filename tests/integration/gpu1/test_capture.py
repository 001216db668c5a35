"""What an engine prints is stored once, and the log of every start is kept: no line is lost, however it ends."""

from __future__ import annotations

import json

import pytest

from tests.integration.committed import Committed, wait_until
from tests.integration.harness import Inventory, service

HOST = "gpu1"
LINES = 50_000
NOISE = {"STANDIN_NOISE": str(LINES), "STANDIN_NOISE_SECONDS": "5"}
NO_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
# Docker keeps 150 MB of a log: so much more comes after the start-up that nothing of it is left there.
TALKS = 66_000
# It talks for longer than the gate takes, on a quick machine too: the end of it is no part of the start-up.
LONG_LIFE = {
    "STANDIN_NOISE": str(TALKS),
    "STANDIN_NOISE_WIDTH": "2400",
    "STANDIN_NOISE_AT": "serving",
    "STANDIN_NOISE_SECONDS": "10",
}
PORTS = {"noisy": 8001, "fails": 8002, "talks": 8003}
ENV = {
    "noisy": NOISE,
    "fails": {**NOISE, "STANDIN_EXIT_AT": "load", "STANDIN_ERROR": NO_MEMORY},
    "talks": LONG_LIFE,
}
ROTATED = "[... the lines in between were left out: Docker had let go of them when this start ended ...]"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory, lab, standin_lock):
    """Deploy them all at once; gives them by name, the play, and when it began."""
    host = lab[HOST]
    host.reset()
    gate = {"soak": "0s", "silence": "60s"}
    services = {name: service(port=port, env=ENV[name], gate=gate) for name, port in PORTS.items()}
    inventory = Inventory.make(tmp_path_factory.mktemp("capture"), services, hosts=(HOST,), lock=standin_lock)
    began = host.run("date +%s")
    played = inventory.play("deploy")
    yield {name: Committed(host, inventory, name) for name in PORTS}, played, began
    host.reset()


@pytest.fixture(scope="module")
def services(fleet):
    return fleet[0]


@pytest.fixture(scope="module")
def journal(fleet):
    """Give a function that gives what the journal has of a unit, without what an earlier run left there."""

    def of(name):
        return fleet[0][name].host.run(f"journalctl -u vllm-{name} -o cat --since @{fleet[2]}")

    return of


def numbers_of(chat, seq):
    """How many different noise lines are in the log that was kept of a start."""
    words = f"vllm-host startup-log {chat.name} --start {seq} --log | grep -o 'noise [0-9]* of' | sort -u | wc -l"
    return int(chat.host.run(words))


def files_of(chat, seq):
    return sorted(chat.host.run(f"ls {chat.state}/starts/{seq}").split())


def test_no_line_is_lost_before_a_start_serves_nor_before_it_fails(services):
    for name in ("noisy", "fails"):
        known = services[name].start(1)
        assert numbers_of(services[name], 1) == LINES, known
        assert known["log_lines_left_out"] == 0 and known["log_lines"] > LINES and not known["evidence_error"], known
        assert files_of(services[name], 1) == ["log.gz", "startup.json", "state.json"]
    assert services["noisy"].start(1)["ready"] and services["fails"].start(1)["ending"] == "engine_ended"


def test_a_failure_is_shown_with_its_cause_its_evidence_and_its_runbook(fleet, journal):
    chats, played, _began = fleet
    fails = chats["fails"]
    said = [
        "diagnosis: the GPU ran out of memory while the model was built or its weights were read (oom_weights)",
        "runbook: docs/runbooks/diagnoses/oom_weights.md",
    ]
    assert played.rc != 0
    error = played.text.split("first start of fails (", 1)[1].split("Look at: vllm-host status fails", 1)[0]
    for text in (error, fails.status(), journal("fails")):
        assert all(line in text for line in said), text
        shown = text.split(said[0])[1].split(said[1])[0]
        assert NO_MEMORY in shown and "remedy: " in shown and 2 <= len(shown.strip().splitlines()) <= 6, shown
    shown = json.loads(fails.host.run("vllm-host show fails start"))
    assert (shown["diagnosis"]["id"], shown["startup"]["state"]) == ("oom_weights", "failed")


def test_what_an_engine_prints_is_stored_once(services, journal):
    host = services["noisy"].host
    wanted = {"Type": "json-file", "Config": {"max-file": "3", "max-size": "50m"}}
    assert json.loads(host.run("docker inspect -f '{{json .HostConfig.LogConfig}}' vllm-noisy")) == wanted
    assert int(host.run("docker logs vllm-noisy 2>&1 | grep -c 'noise [0-9]* of'")) == LINES
    for name in services:
        said = journal(name).splitlines()
        assert said and not [line for line in said if line.startswith(("(", "INFO:")) or "noise" in line], said
    assert "fails: start 1 ended: the engine ended by itself" in journal("fails")
    assert "serving since" in host.run("systemctl status vllm-noisy")


def test_the_start_up_outlives_what_docker_lets_go_of(services):
    talks = services["talks"]
    last = f"docker logs --tail 50 vllm-talks 2>&1 | grep -c 'noise {TALKS} of' || true"
    wait_until("all has been said", lambda: talks.host.run(last) == "1", 120)
    assert "noise" in talks.host.run("docker logs vllm-talks 2>&1 | head -n 1")
    talks.host.run("systemctl stop vllm-talks")
    known = talks.start(1)
    assert (known["ending"], known["evidence_error"]) == ("stopped", None)
    assert files_of(talks, 1) == ["log.gz", "startup.json", "state.json"]
    talks.host.run("vllm-host startup-log talks --log >/tmp/kept")
    assert "stand-in engine for tests" in talks.host.run("head -n 1 /tmp/kept")
    marks = ("startup complete", ROTATED, f"noise {TALKS} of")
    words = " ".join(f"-e '{mark}'" for mark in marks)
    found = talks.host.run(f"grep -F {words} /tmp/kept | cut -c-120").splitlines()
    assert len(found) == 3 and all(mark in line for mark, line in zip(marks, found, strict=True)), found
    assert int(talks.host.run("stat -c %s /tmp/kept")) < 25 << 20
    assert json.loads(talks.host.run("vllm-host startup-log talks"))["kv_cache_tokens"] == [2097152]


def test_what_docker_itself_says_reaches_the_journal(services, journal):
    noisy = services["noisy"]
    noisy.host.run("mv /srv/models/tiny-llama /srv/models/away")
    try:
        noisy.host.run("systemctl restart vllm-noisy", check=False)
        known = noisy.start(2)
        said = "docker: Error response from daemon: invalid mount config"
        assert said in journal("noisy")
        assert (known["ending"], known["verdict"]) == ("never_ran", "dead"), known
        assert said in known["reason"] and said in known["ending_reason"], known
        assert noisy.log(2).startswith(said) and files_of(noisy, 2) == ["log", "startup.json", "state.json"]
    finally:
        noisy.host.run("systemctl stop vllm-noisy; mv /srv/models/away /srv/models/tiny-llama")
    noisy.fresh_limit()
    noisy.host.run("systemctl start vllm-noisy")


def test_an_automatic_restart_and_a_power_cut_keep_every_line(services):
    noisy = services["noisy"]
    first = noisy.newest()
    noisy.host.run("docker kill vllm-noisy")
    second = noisy.serving_after(first)
    assert noisy.start(first)["ending"] == "stopped_in_docker"
    noisy.host.power_cut()
    assert noisy.host.wait("systemctl is-active docker", "active", seconds=60)
    third = noisy.serving_after(second)
    assert noisy.start(second)["ending"] == "host_lost"
    for seq in (first, second, third):
        assert numbers_of(noisy, seq) == LINES, noisy.start(seq)
        assert files_of(noisy, seq) == ["log.gz", "startup.json", "state.json"]


def test_a_removed_container_leaves_what_its_gate_had_read(services):
    noisy = services["noisy"]
    last = noisy.newest()
    noisy.host.run("docker rm -f vllm-noisy")
    wait_until("it has ended", lambda: noisy.start(last).get("ending"), 60)
    assert "the log ends where the gate stopped reading" in noisy.start(last)["evidence_error"]
    assert numbers_of(noisy, last) == LINES
    noisy.host.run("systemctl stop vllm-noisy")


def test_a_full_disk_is_said_and_ends_nothing(services):
    """The evidence has two megabytes of room, the log of the start five."""
    noisy = services["noisy"]
    room = f"{noisy.state}/starts"
    noisy.fresh_limit()
    noisy.host.run(f"mount -t tmpfs -o size=2m,mode=755 tmpfs {room}")
    try:
        noisy.host.run("systemctl start vllm-noisy")
        known = noisy.start(1)
        assert known["evidence_error"] == "its log could not be kept whole: No space left on device"
        assert known["ready"] and noisy.active() == "active"
        kept = int(noisy.host.run(f"grep -vc 'lines left out' {room}/1/log"))
        assert kept > 5_000 and known["log_lines_left_out"] == known["log_lines"] - kept, (kept, known)
        noisy.host.run("systemctl stop vllm-noisy")
        known = noisy.start(1)
        assert (known["ending"], known["exit_code"]) == ("stopped", 0)
        assert known["evidence_error"].endswith("No space left on device")
        assert noisy.host.run("docker ps -aq --filter label=io.gpuhosts.vllm.service=noisy") == ""
    finally:
        noisy.host.run(f"systemctl stop vllm-noisy; umount {room}")
