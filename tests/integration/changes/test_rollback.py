"""An incident on one host: back with nothing but the host, and what else a human's word does to a running service."""

from __future__ import annotations

import json
import time

import pytest

from tests.integration.harness import Inventory, begin, end, service
from tests.oracle.legal import assert_legal

HOST = "gpu2"
STATE = "/var/lib/gpuhosts-vllm/chat"
QUICK = {"STANDIN_START_SECONDS": "1", "STANDIN_WARM_SECONDS": "0.5", "STANDIN_DEATH_SECONDS": "0.5"}
FIRST, SECOND = "first-key-of-the-service", "second-key-of-the-service"
NOWHERE = "{{ lookup('ansible.builtin.file', '/nowhere/vault') }}"


def chat(length=1024, **changes):
    config = {"served-model-name": ["chat"], "max-model-len": length}
    return {"chat": service(config=config, env={**QUICK, **changes.pop("env", {})}, **changes)}


@pytest.fixture(scope="module")
def host(lab):
    return lab[HOST]


@pytest.fixture(scope="module")
def inventory(tmp_path_factory, lab, standin_lock):
    """A service that was upgraded once, with a key."""
    lab[HOST].reset()
    made = Inventory.make(tmp_path_factory.mktemp("incident"), {}, hosts=(HOST,), lock=standin_lock)
    made.declare(chat(), vllm_secrets={"chat": {"VLLM_API_KEY": FIRST}})
    played = made.play("deploy")
    assert played.rc == 0, played.text
    made.declare(chat(512), vllm_secrets={"chat": {"VLLM_API_KEY": FIRST}})
    played = made.play("upgrade", vllm_confirm="chat")
    assert played.rc == 0, played.text
    return made


def links(host):
    return [host.run(f"readlink {STATE}/{name}").split("/")[-1] for name in ("current", "last_good")]


def last(host):
    return json.loads(host.run(f"tail -1 {STATE}/journal.jsonl"))


def opens(host, key):
    ask = "curl -s -o /dev/null -w '%{http_code}' 127.0.0.1:8000/v1/models"
    return host.run(f"{ask} -H 'Authorization: Bearer {key}'")


def test_a_rollback_needs_neither_definitions_nor_secrets_nor_a_registry(inventory, host, tmp_path):
    reloads = host.run("journalctl _PID=1 --no-pager | grep -c Reloading || true")
    before = links(host)
    inventory.declare({"chat": {"image": "{{ nothing }}"}}, vllm_secrets=NOWHERE)
    (inventory.folder / "vllm.lock.yml").rename(tmp_path / "lock")
    played = inventory.play("rollback", vllm_confirm="chat", vllm_why="garbage", vllm_report_file=str(tmp_path / "r"))
    (tmp_path / "lock").rename(inventory.folder / "vllm.lock.yml")
    assert played.rc == 0 and played.changes(HOST) == 1, played.text
    after = links(host)
    assert after[0] == after[1] != before[0]
    change = json.loads((tmp_path / "r").read_text())["services"][0]["change"]
    assert (change["result"], change["before"], change["after"]) == ("committed", before[0], after[0])
    assert host.run("journalctl _PID=1 --no-pager | grep -c Reloading || true") == reloads
    assert_legal(host.infra)


def test_a_second_one_does_not_lead_forward_and_is_no_success(inventory, host):
    before = host.run(f"wc -l < {STATE}/journal.jsonl")
    for extra, says in (
        ({"vllm_confirm": "chat"}, "there is no release to go back to"),
        ({"vllm_confirm": "chat", "vllm_release": "rel-000000000000"}, "was never committed on this host"),
        ({"vllm_confirm": "nobody"}, "Services of these hosts: chat"),
        ({}, "rollback needs a word that names the service"),
    ):
        played = inventory.play("rollback", **extra)
        assert played.rc != 0 and says in played.text, played.text
    assert host.run(f"wc -l < {STATE}/journal.jsonl") == before


def test_what_is_frozen_stays_as_it_is(inventory, host):
    inventory.declare(chat(512), vllm_secrets={"chat": {"VLLM_API_KEY": FIRST}})
    assert "a freeze needs a reason" in inventory.play("freeze", vllm_confirm="chat").text
    assert inventory.play("freeze", vllm_confirm="chat", vllm_why="audit").changes(HOST) == 1
    assert inventory.play("freeze", vllm_confirm="chat", vllm_why="other").changes(HOST) == 0
    played = inventory.play("upgrade", vllm_confirm="chat", vllm_retry="chat")
    assert played.rc != 0 and "frozen: audit (by " in played.text, played.text
    assert inventory.play("unfreeze", vllm_confirm="chat").changes(HOST) == 1


def test_what_a_rollback_left_needs_a_word(inventory, host):
    played = inventory.play("upgrade", vllm_confirm="chat")
    assert played.rc != 0 and "went back from it with rollback-" in played.text, played.text
    played = inventory.play("upgrade", vllm_confirm="chat", vllm_retry="chat")
    assert played.rc == 0, played.text


def test_a_rotation_proves_that_the_earlier_key_is_refused(inventory, host):
    before = links(host)
    inventory.declare(chat(512), vllm_secrets={"chat": {"VLLM_API_KEY": SECOND}})
    played = inventory.play("rotate", vllm_confirm="chat")
    assert played.rc == 0, played.text
    assert [opens(host, FIRST), opens(host, SECOND)] == ["401", "200"]
    assert host.run("ls /etc/gpuhosts-vllm/chat") == "secrets" and links(host) == before
    assert FIRST not in played.text and SECOND not in played.text
    again = inventory.play("rotate", vllm_confirm="chat")
    assert (again.rc, again.changes(HOST)) == (0, 0), again.text


def test_a_rollback_calls_an_open_upgrade_back(inventory, host):
    before = links(host)
    secrets = {"chat": {"VLLM_API_KEY": SECOND}}
    inventory.declare(chat(256, gate={"soak": "60s", "silence": "30s"}), vllm_secrets=secrets)
    controller = begin(inventory, "upgrade", "-e", "vllm_confirm=chat")
    until = time.monotonic() + 90
    while time.monotonic() < until and last(host)["state"] != "soaking":
        time.sleep(0.3)
    end(controller)
    assert last(host)["state"] == "soaking"
    played = inventory.play("rollback", vllm_confirm="chat", vllm_why="wrong one")
    assert played.rc == 0, played.text
    assert links(host) == before and last(host)["state"] == "rolled_back"
    assert "called back by" in host.run("vllm-host status chat") and "wrong one" in host.run("vllm-host history chat")


def test_the_host_does_it_without_ansible(inventory, host):
    before = links(host)
    said = host.run("vllm-host rollback chat --why 'by hand'")
    assert "committed (" in said and "rollback of chat" in said
    assert links(host)[0] != before[0]
    assert host.run("vllm-host rollback chat; echo $?").splitlines()[-1] == "1"
