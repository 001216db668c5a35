"""The real vLLM 0.32.0 (CPU build) dies, in whole and in parts: the same script as for the stand-in, the same endings.

Two workers (tensor-parallel-size 2), nothing compiled, so that a start takes about half a minute on two cores.
"""

from __future__ import annotations

import json
from statistics import median

import pytest

from tests.integration.deaths import (
    CLIENT,
    DOCKERD,
    ENGINE,
    FIRST,
    LOADING,
    SERVER,
    SERVING,
    WORKER,
    Death,
    die,
    judge,
    main_ended,
    moment,
    newest,
    show,
    strike,
    tell,
    telling,
)
from tests.integration.harness import MODEL, Inventory

HOST = "gpu2"
OLD = "old1"  # its control groups are of version 1, where this machine can enforce a memory limit
REAL = "real vLLM 0.32.0"
PORTS = {"chat": 8000}
# In bfloat16 a processor with AMX ends the workers of a warm start: Illegal instruction in cpu_attention_with_kv_cache.
CONFIG = {
    "served-model-name": ["chat"],
    "max-model-len": 512,
    "tensor-parallel-size": 2,
    "dtype": "float32",
    "compilation-config": {"mode": 0},
}
# No binding of threads to cores, which a container may not do; one thread a worker, or two cores only wait for locks.
ENV = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
}
ONE = {key: value for key, value in CONFIG.items() if key != "tensor-parallel-size"}

# Starts that die by themselves: what is wrong, and the words of vLLM that must reach whoever deploys.
ODD_MODEL = "/srv/models/odd-llama"
FAILING = {
    "a-option": (
        {"config": {**ONE, "kv-cache-dtype": "no-such-type"}},
        "argument --kv-cache-dtype: invalid choice: 'no-such-type'",
    ),
    "b-model": ({"config": ONE, "model": ODD_MODEL}, "has model type `no-such`"),
    "c-memory": (
        {"config": {**ONE, "max-model-len": 8388608}, "env": {**ENV, "VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}},
        "KV cache is needed, which is larger than the available KV cache memory",
    ),
}


def real(port=8000, **changes):
    """The definition of a real server."""
    return {
        "image": "vllm/vllm-openai:v0.32.0",
        "model": MODEL,
        "port": port,
        "gpus": "none",
        "shm_size": "1g",
        "config": CONFIG,
        "env": ENV,
        "gate": {"soak": "0s", "silence": "10m", "deadline": "15m"},
        **changes,
    }


@pytest.fixture(autouse=True)
def shown(capsys):
    """Print the rows of a test at its end, passed or not."""
    yield
    show(capsys)


@pytest.fixture(scope="module")
def lock(tmp_path_factory, lab):
    """Write the lock file of the real image."""
    lab[HOST].reset()
    inventory = Inventory.make(tmp_path_factory.mktemp("lock"), {"chat": real()}, hosts=(HOST,))
    locked = inventory.play("lock")
    assert locked.rc == 0, locked.text
    return inventory.folder / "vllm.lock.yml"


@pytest.fixture(scope="module")
def served(tmp_path_factory, lab, lock):
    """Deploy one service."""
    inventory = Inventory.make(tmp_path_factory.mktemp("deaths"), {"chat": real()}, hosts=(HOST,), lock=lock)
    played = inventory.play("deploy", timeout=1500)
    assert played.rc == 0, played.text
    return inventory


@pytest.mark.parametrize("when", [SERVING, LOADING])
@pytest.mark.parametrize("who", [ENGINE, WORKER, SERVER, CLIENT, DOCKERD])
def test_a_part_of_the_engine_or_of_its_host_dies(served, lab, who, when):
    die(lab[HOST], [Death(REAL, "chat", who, when)], PORTS, settle=1.0 if when == LOADING else 0.0, limit=600)


def test_the_service_verifies_after_all_of_it(served):
    proven = served.play("verify")
    assert proven.rc == 0, proven.text


def test_starts_that_die_are_told_at_once_and_in_vllms_own_words(tmp_path, lab, lock, served):
    """Among them one whose engine process is killed in its first load."""
    host = lab[HOST]
    stopped = served.play("stop", vllm_confirm="chat")  # its two workers would take the cores
    assert stopped.rc == 0, stopped.text
    host.run(f"cp -r {MODEL} {ODD_MODEL}")
    config = json.loads(host.run(f"cat {ODD_MODEL}/config.json"))
    odd = json.dumps({**config, "model_type": "no-such"})
    host.run(f"cat > {ODD_MODEL}/config.json <<'END'\n{odd}\nEND")
    services = {name: real(8011 + at, **changes) for at, (name, (changes, _words)) in enumerate(FAILING.items())}
    services["d-killed"] = real(8020, config=ONE)
    killed = Death(REAL, "d-killed", ENGINE, FIRST)
    # The audit and the preflight would not let the first of them start.
    told_anyway = {"service": "a-option", "reason": "its end is the test", "owner": "tests", "until": "2999-12-31"}
    waivers = [{"id": code, **told_anyway} for code in ("VALUE_UNKNOWN", "VALUE_NOT_IN_IMAGE")]
    inventory = Inventory.make(tmp_path, services, hosts=(HOST,), lock=lock, vllm_waivers=waivers)
    with telling(inventory, "deploy") as told:
        strike(host, [killed], settle=1.0, seconds=900)
        assert told.end(900) != 0, told.text
    judge(host, killed)
    words = {name: words for name, (_changes, words) in FAILING.items()}
    plays = []
    for name, error in {**words, "d-killed": "Engine core initialization failed"}.items():
        known, ended = newest(host, name), main_ended(host, name)
        assert (known["verdict"], known["ending"], known["oom_killed"]) == ("dead", "engine_ended", False), known
        assert known["exit_code"] in (1, 2), known
        assert error in known["first_error"] and error in known["reason"], known
        gate, play = moment(known["verdict_at"]) - ended, told.when(error) - ended
        tell(f"{REAL}: {name} verdict after {gate:.2f} s, in the play after {play:.2f} s: {known['first_error']}")
        assert gate <= 1.0 and play <= 10.0
        plays.append(play)
    assert median(plays) <= 3.0, plays  # one of them can meet another Ansible process on the two cores
    assert "root cause above" not in told.text


def test_a_start_that_the_kernel_kills_for_memory(tmp_path, lab, lock):
    """By a memory limit of its container, which only the Debian 12 host can enforce."""
    host = lab[OLD]
    host.reset()
    if host.run("docker info --format '{{.MemoryLimit}}'") != "true":
        pytest.skip("no control group of this machine limits memory")
    little = real(config=ONE, docker_args=["--memory=700m", "--memory-swap=700m"])
    inventory = Inventory.make(tmp_path, {"chat": little}, hosts=(OLD,), lock=lock)
    played = inventory.play("deploy", timeout=1200)
    known = newest(host, "chat")
    assert (known["ending"], known["oom_killed"], known["ready"]) == ("out_of_memory", True, False), known
    assert known["exit_code"] in (1, 137), known  # whether the kernel chose the engine's process or the server itself
    assert played.rc != 0 and known["reason"] in played.text, played.text
    tell(f"{REAL}: {known['ending_reason']}, exit {known['exit_code']}: {known['reason']}")
