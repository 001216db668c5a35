"""The real engine changes its version: 0.31.0 -> 0.32.0 commits, what is broken goes back, and a rollback needs nobody.

One service goes through all of it, in this order; nothing is compiled, so that a warm start is quick. Beside it serves
another one, which nothing of this may touch.
"""

from __future__ import annotations

import json
import time

import pytest

from tests.integration.deaths import newest, show, tell, until
from tests.integration.harness import MODEL, STANDIN, Inventory, begin, end, service
from tests.oracle.legal import assert_legal

HOST = "gpu2"
OTHER_MODEL = "/srv/models/other-llama"
REGISTRY = "10.212.0.2"
STATE = "/var/lib/gpuhosts-vllm/chat"
CONFIG = {"served-model-name": ["chat"], "max-model-len": 512, "dtype": "float32", "enforce-eager": True}
ENV = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"}
GATE = {"soak": "1s", "silence": "5m"}

# How a new release is broken, and what the one who upgrades must read. None of them comes as far as to load weights.
BROKEN = {
    "removed flag": ({"config": {**CONFIG, "swap-space": 4}}, "unrecognized arguments: --swap-space"),
    "too long context": ({"config": {**CONFIG, "max-model-len": 100000}}, "max_model_len (100000) is greater than"),
    "wrong model": ({"model": OTHER_MODEL}, "has model type `no-such`"),
}
# The audit and the preflight would not let the first of them stop anything.
TOLD_ANYWAY = {"service": "chat", "reason": "its end is the test", "owner": "tests", "until": "2999-12-31"}
WAIVERS = [{"id": code, **TOLD_ANYWAY} for code in ("FLAG_REMOVED", "FLAG_NOT_IN_IMAGE")]


def real(version, **changes):
    """Give the definition of the service that changes."""
    definition = {
        "image": f"vllm/vllm-openai:{version}",
        "model": MODEL,
        "port": 8000,
        "gpus": "none",
        "shm_size": "1g",
        "config": CONFIG,
        "env": ENV,
        "gate": GATE,
    }
    return {**definition, **changes}


OTHER = service(port=8001, image=STANDIN, env={"STANDIN_DEVICE": "cpu"})


@pytest.fixture(autouse=True)
def shown(capsys):
    """Print what a test has to tell at its end, passed or not."""
    yield
    show(capsys)


@pytest.fixture(scope="module")
def inventory(tmp_path_factory, lab):
    """Deploy 0.31.0 and the service beside it; both versions are locked."""
    host = lab[HOST]
    host.reset()
    host.run(f"cp -r {MODEL} {OTHER_MODEL}; sed -i 's/\"model_type\": *\"llama\"/\"model_type\": \"no-such\"/' "
             f"{OTHER_MODEL}/config.json; grep -q no-such {OTHER_MODEL}/config.json")  # fmt: skip
    made = Inventory.make(tmp_path_factory.mktemp("upgrade"), {"chat": real("v0.32.0"), "other": OTHER}, hosts=(HOST,))
    for version, playbook in (("v0.32.0", "lock"), ("v0.31.0", "lock"), ("v0.31.0", "deploy")):
        made.declare({"chat": real(version), "other": OTHER})
        played = made.play(playbook, timeout=900)
        assert played.rc == 0, played.text
    return made


@pytest.fixture
def untouched(lab, inventory):
    """Nothing reloads systemd, and the service beside the one that changes goes on as if nothing were."""
    before = seen(lab[HOST])
    assert before["reloads"] > 0, "a deployment reloads systemd: else this could not see it"
    yield
    assert seen(lab[HOST]) == before


def seen(host):
    """Give how often systemd was reloaded, and which invocation and container the other service is."""
    return {
        "reloads": int(host.run("journalctl _PID=1 -b -o cat --no-pager | grep -c '^Reloading finished' || true")),
        "invocation": host.run("systemctl show --property InvocationID --value vllm-other"),
        "container": host.run("docker inspect --format '{{.Id}} {{.State.StartedAt}}' vllm-other"),
        "answer": host.run("curl -sS -m 5 -o /dev/null -w '%{http_code}' http://127.0.0.1:8001/health"),
    }


def version_that_serves(host):
    """Give the version that answers a completion; a local part like +cpu is left out."""
    body = json.dumps({"model": "chat", "prompt": "Hello", "max_tokens": 4})
    ask = "curl -sS -m 60 -H 'Content-Type: application/json'"
    said = json.loads(host.run(f"{ask} -d '{body}' http://127.0.0.1:8000/v1/completions"))
    assert said["choices"][0]["finish_reason"] == "length", said
    return json.loads(host.run(f"{ask} http://127.0.0.1:8000/version"))["version"].partition("+")[0]


def run_of(host):
    """Give the kind of the last run, and its states as they were reached."""
    entries = [json.loads(line) for line in host.run(f"cat {STATE}/journal.jsonl").splitlines()]
    last = [each for each in entries if each["run"] == entries[-1]["run"]]
    return last[0]["kind"], [each["state"] for each in last if each["phase"] == "done"]


def link(host, name):
    """Give the release that a link of the service names."""
    return host.run(f"readlink {STATE}/{name}").rpartition("/")[2]


def upgraded(inventory, version="v0.32.0", *, retry=False, **changes):
    """Change the definition, and upgrade to it."""
    inventory.declare({"chat": real(version, **changes), "other": OTHER}, vllm_waivers=WAIVERS)
    extra = {"vllm_retry": "chat"} if retry else {}
    return inventory.play("upgrade", timeout=900, vllm_confirm="chat", **extra)


def is_back(host, before, played, words):
    """Fail unless 0.31.0 serves again, the run ended as it should, and the reason is where a human looks."""
    assert played.rc != 0, played.text
    assert words in played.text, played.text
    kind, states = run_of(host)
    assert (kind, states[-1]) == ("change", "rolled_back"), states
    assert (link(host, "current"), link(host, "last_good")) == (before, before)
    assert version_that_serves(host) == "0.31.0"
    assert words in host.run("vllm-host show chat journal")
    assert_legal(host.infra)


@pytest.mark.parametrize("how", BROKEN)
def test_what_is_broken_goes_back_and_serves(inventory, lab, untouched, how):
    host, (changes, words) = lab[HOST], BROKEN[how]
    before = link(host, "current")
    is_back(host, before, upgraded(inventory, **changes), words)
    failed = next(each for each in reversed(host.run(f"ls {STATE}/starts").split()) if ended_in_start(host, each))
    tell(f"real vLLM 0.31.0 -> 0.32.0, {how}: start {failed} died, 0.31.0 serves again after "
         f"{newest(host, 'chat')['ready_seconds']:.1f} s of start")  # fmt: skip


def ended_in_start(host, seq):
    """Whether a start never became ready."""
    return json.loads(host.run(f"cat {STATE}/starts/{seq}/state.json")).get("ready") is False


def test_less_room_than_the_floor_goes_back_and_serves(inventory, lab, untouched):
    host = lab[HOST]
    before = link(host, "current")
    played = upgraded(inventory, gate={**GATE, "kv_floor_tokens": 1 << 30})
    is_back(host, before, played, "1,073,741,824")


def test_the_newer_version_commits(inventory, lab, untouched):
    """The same release as the one before: what it has to reach is no part of it, so a human names it once more."""
    host = lab[HOST]
    before = link(host, "current")
    refused = upgraded(inventory)
    assert refused.rc != 0 and "vllm_retry=chat" in refused.text, refused.text
    assert version_that_serves(host) == "0.31.0"
    played = upgraded(inventory, retry=True)
    assert played.rc == 0, played.text
    assert run_of(host)[0] == "change" and run_of(host)[1][-1] == "committed"
    after = link(host, "current")
    assert after != before and link(host, "last_good") == after
    assert version_that_serves(host) == "0.32.0"
    again = upgraded(inventory)
    assert (again.rc, again.changes(HOST)) == (0, 0), again.text


def test_a_rollback_needs_neither_registry_nor_controller(inventory, lab, untouched):
    """No registry from the begin, and nobody on the other side as soon as the run has begun."""
    host = lab[HOST]
    block = f"iptables -{{}} OUTPUT -d {REGISTRY} -j REJECT; iptables -{{}} FORWARD -d {REGISTRY} -j REJECT"
    host.run(block.format("I", "I"))
    try:
        assert host.run(f"curl -sS -m 5 http://{REGISTRY}:5000/v2/ 2>&1 || true").startswith("curl: (7)")
        process = begin(inventory, "rollback", "-e", json.dumps({"vllm_confirm": "chat"}))
        until("the run has begun", 120, lambda: host.run("cat /run/gpuhosts-vllm/chat/run", check=False))
        end(process)
        gone = time.monotonic()
        until("the run has ended", 300, lambda: not host.run("cat /run/gpuhosts-vllm/chat/run", check=False))
        tell(f"real vLLM 0.32.0 -> 0.31.0: committed {time.monotonic() - gone:.1f} s after its controller was gone")
    finally:
        host.run(block.format("D", "D"))
    assert run_of(host)[0] == "rollback" and run_of(host)[1][-1] == "committed"
    assert version_that_serves(host) == "0.31.0"
    assert link(host, "current") == link(host, "last_good")
