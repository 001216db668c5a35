"""The audit on a host: what stops before any host is touched, what the image itself refuses, and who may look."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.integration.harness import STANDIN, Inventory, ansible, service

OLD = "lab/vllm-standin:v0.31.0"
WAIVER = {"service": "chat", "reason": "our build has it", "owner": "ada", "until": "2999-12-31"}
COMPOSE = """\
services:
  vllm:
    image: vllm/vllm-openai:v0.17.0
    command: --model Qwen/Qwen3-8B --swap-space 4 --api-key planted-audit-key
    ports: ["127.0.0.1:8000:8000"]
    shm_size: 16g
"""


def config(**options):
    return {"served-model-name": ["chat"], "max-model-len": 1024, **options}


@pytest.fixture
def host(lab):
    """The other host, empty."""
    lab["gpu2"].reset()
    return lab["gpu2"]


@pytest.fixture
def inventory(tmp_path, standin_lock):
    """Give an inventory of one service on the host."""

    def make(**changes):
        variables = {name: changes.pop(name) for name in [*changes] if name.startswith("vllm_")}
        return Inventory.make(tmp_path, {"chat": service(**changes)}, hosts=("gpu2",), lock=standin_lock, **variables)

    return make


def module(inventory, **arguments):
    words = ["gpu2", "-i", str(inventory.folder / "hosts.json"), "-b", "-m", "gpuhosts.vllm.vllm_config_audit"]
    return ansible("ansible", *words, "-a", json.dumps(arguments))


def test_a_removed_option_stops_before_any_host_is_touched_and_names_what_is_in_its_place(host, inventory, snapshots):
    with snapshots("gpu2"):
        played = inventory(config=config(**{"disable-log-requests": True, "task": "embed"})).play("deploy")
    assert played.rc != 0
    assert played.text.count("TASK [") == 1, "something ran after the inventory was judged wrong"
    for word in (
        "host gpu2, service chat",
        "config.task",
        "config.disable-log-requests",
        "--runner pooling",
        "FLAG_REMOVED",
    ):
        assert word in played.text, f"{word}:\n{played.text}"
    assert "ansible-playbook gpuhosts.vllm.plan" in played.text and "docs/runbooks/audit.md" in played.text


def test_the_image_has_the_last_word_and_its_options_are_asked_once(host, inventory, standin_lock):
    lock = yaml.safe_load(standin_lock.read_text())
    assert STANDIN in lock["images"]
    waived = {"vllm_waivers": [{"id": "FLAG_NOT_YET", **WAIVER}]}
    made = inventory(image=OLD, config=config(**{"enable-hc-sp": True}), **waived)
    assert made.play("lock").rc == 0
    refused = made.play("deploy")
    assert refused.rc != 0
    assert "the image (vLLM 0.31.0) does not list --enable-hc-sp" in refused.text, refused.text
    assert host.run("docker ps -aq") == ""
    assert host.run("systemctl is-active vllm-chat", check=False) != "active"
    kept = host.run("ls /var/cache/gpuhosts-vllm/options/").split()
    assert len(kept) == 1 and kept[0].endswith(".json")
    before = host.run(f"stat -c %Y.%i /var/cache/gpuhosts-vllm/options/{kept[0]}")
    # The same, without what the image does not have: it starts, and the file is all that was asked.
    made.declare({"chat": service(image=OLD, config=config())}, vllm_waivers=[{"id": "FLAG_NOT_YET", **WAIVER}])
    played = made.play("deploy")
    assert played.rc == 0, played.text
    assert "no finding of this service is what this waiver is for" in " ".join(played.text.split())
    assert host.run(f"stat -c %Y.%i /var/cache/gpuhosts-vllm/options/{kept[0]}") == before
    # What runs, against the release that it might go to, and as itself.
    assert json.loads(host.run("vllm-host audit chat --json"))["version"] == "0.31.0"
    planned = json.loads(host.run("vllm-host audit chat --version 0.32.0 --json", check=False))
    assert (planned["version"], planned["previous_version"]) == ("0.32.0", "0.31.0")
    assert "DEFAULT_CHANGED" in [finding["code"] for finding in planned["findings"]]
    made.declare({"chat": service(config=config())})
    plan = made.play("plan")
    assert plan.rc == 0, plan.text
    assert "upgrade: WARNING DEFAULT_CHANGED [chat --allowed-origins]" in plan.text


def test_what_somebody_else_wrote_is_audited_on_the_host_and_nothing_changes(host, inventory):
    host.run(f"mkdir -p /srv/other && cat > /srv/other/compose.yml <<'END'\n{COMPOSE}END")
    made = inventory()
    asked = {"path": "/srv/other/compose.yml", "version": "0.32.0", "previous_version": "0.17.0"}
    before = host.snapshot()
    for mode in ({}, {"_ansible_check_mode": True}):
        words = ["--check"] if mode else []
        failed = ansible(
            "ansible", "gpu2", "-i", str(made.folder / "hosts.json"), "-b", "-vvv", *words,
            "-m", "gpuhosts.vllm.vllm_config_audit", "-a", json.dumps(asked),
        )  # fmt: skip
        assert failed.rc != 0
        assert "--swap-space" in failed.text and "FLAG_REMOVED" in failed.text, failed.text
        assert "planted-audit-key" not in failed.text
    looked = module(made, fail_on="never", **asked)
    assert looked.rc == 0 and "CHANGED" not in looked.text.replace("DEFAULT_CHANGED", ""), looked.text
    missing = module(made, path="/srv/other/none.yml", version="0.32.0")
    assert "/srv/other/none.yml: No such file or directory" in missing.text
    assert before.difference(host.snapshot()) == []
