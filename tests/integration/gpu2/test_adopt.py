"""A server that somebody started by hand: proposed, taken over, and given back when ours does not prove itself."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.integration.harness import STANDIN, Inventory
from tests.integration.lab_host import TOUCHED

HOST = "gpu2"
KEY = "planted-key-of-the-old-server-0815"
TOKEN = "hf_" + "plantedTokenOfTheOldServer42"
OLD = (
    "docker run -d --name chat --restart unless-stopped -p 8000:8000 --shm-size 128m -v /srv/models:/models:ro "
    f"-e HF_TOKEN={TOKEN} -e VLLM_LOGGING_LEVEL=INFO {STANDIN} "
    f"/models/tiny-llama --max-model-len 1024 --api-key {KEY}"
)
UNIT = (
    "[Unit]\\nAfter=docker.service\\n[Service]\\nExecStartPre=-/usr/bin/docker rm -f embed\\n"
    "ExecStart=/usr/bin/docker run --rm --name embed -p 127.0.0.1:8001:8000 -v /srv/models:/models:ro "
    f"{STANDIN} --model /models/tiny-llama --served-model-name embed --max-model-len 1024\\n"
    "ExecStop=/usr/bin/docker stop embed\\n[Install]\\nWantedBy=multi-user.target\\n"
)
# What somebody had set up before: Docker's mirror is the lab's registry.
MIRROR = json.dumps(
    {
        "bip": "10.213.0.1/24",
        "features": {"cdi": True},
        "registry-mirrors": ["http://10.212.0.2:5000"],
        "insecure-registries": ["10.212.0.2:5000"],
    }
)
SECRETS = {"chat": {"VLLM_API_KEY": KEY, "HF_TOKEN": TOKEN}}


def answers(host, port, key=""):
    """Give the HTTP status of the models' list."""
    return host.run(
        f"curl -s -o /dev/null -w '%{{http_code}}' -H 'Authorization: Bearer {key}' http://127.0.0.1:{port}/v1/models",
        check=False,
    )


@pytest.fixture(scope="module")
def story(tmp_path_factory, lab, standin_lock):
    """Start two servers by hand, one in a container of its own and one under a unit, and let them be proposed."""
    host, folder = lab[HOST], tmp_path_factory.mktemp("adopt")
    host.reset()
    host.run(f"echo '{MIRROR}' >/etc/docker/daemon.json && systemctl reload docker")
    host.run(f"docker pull -q {STANDIN} && {OLD}")
    host.run(f"printf '{UNIT}' > /etc/systemd/system/embed.service && systemctl daemon-reload")
    host.run("systemctl enable -q --now embed")
    for port, key in ((8000, KEY), (8001, "")):
        assert host.wait(f"curl -s -o /dev/null -w '%{{http_code}}' localhost:{port}/health", "200", seconds=30), key
    inventory = Inventory.make(folder / "inventory", {}, hosts=(HOST,), lock=standin_lock)
    before = host.snapshot()
    played = inventory.play("adopt", vllm_adopt_folder=str(folder / "out"))
    assert played.rc == 0, played.text
    assert host.snapshot().difference(before) == []
    files = {path.stem: path.read_text(encoding="utf-8") for path in Path(folder / "out" / HOST).glob("*.yml")}
    yield host, inventory, played, files
    host.run("systemctl disable -q --now embed; rm -f /etc/systemd/system/embed.service; systemctl daemon-reload")
    host.run("docker ps -aq --filter name=before-adoption --filter name=^/chat$ | xargs -r docker rm -f")
    host.reset()


def definitions(files):
    """Give the proposed definitions by name."""
    return {
        name: found for text in files.values() for name, found in yaml.safe_load(text)["vllm_extra_services"].items()
    }


def test_both_servers_are_proposed_and_no_secret_is(story):
    host, _inventory, played, files = story
    assert KEY in host.run("docker inspect chat") and TOKEN in host.run("docker inspect chat")
    assert not [name for name, text in files.items() if KEY in text or TOKEN in text]
    assert KEY not in played.text and TOKEN not in played.text
    assert definitions(files) == {
        "chat": {
            "image": STANDIN,
            "model": "/srv/models/tiny-llama",
            "port": 8000,
            "bind": "0.0.0.0",
            "gpus": "none",
            "config": {"max-model-len": 1024, "served-model-name": ["/models/tiny-llama"]},
            "env": {"VLLM_LOGGING_LEVEL": "INFO"},
            "shm_size": "128m",
        },
        "embed": {
            "image": STANDIN,
            "model": "/srv/models/tiny-llama",
            "port": 8001,
            "gpus": "none",
            "config": {"served-model-name": ["embed"], "max-model-len": 1024},
        },
    }
    assert "VLLM_API_KEY: found in --api-key" in files["chat"]
    assert "of the unit embed.service" in played.text
    TOUCHED.discard(HOST)  # engines that are not ours run there, on purpose


def test_a_take_over_that_fails_gives_the_old_servers_back_and_one_that_works_serves(story):
    host, inventory, _played, files = story
    found = {name: {**each, "gate": {"soak": "1s", "silence": "30s"}} for name, each in definitions(files).items()}
    old = host.run("docker inspect -f '{{.Id}}' chat")
    broken = {name: {**each, "env": {"STANDIN_EXIT_AT": "kv_cache"}} for name, each in found.items()}
    inventory.declare(broken, vllm_secrets=SECRETS)
    failed = inventory.play("adopt", vllm_confirm="chat,embed")
    assert failed.rc != 0
    assert "the container chat runs again, as it was" in failed.text, failed.text
    assert host.run("docker inspect -f '{{.Id}} {{.State.Status}} {{.HostConfig.RestartPolicy.Name}}' chat") == (
        f"{old} running unless-stopped"
    )
    assert host.wait("curl -s -o /dev/null -w '%{http_code}' localhost:8000/health", "200", seconds=30)
    assert (answers(host, 8000, KEY), answers(host, 8000, "wrong")) == ("200", "401")

    inventory.declare(found, vllm_secrets=SECRETS)
    played = inventory.play("adopt", vllm_confirm="chat,embed")
    assert played.rc == 0, played.text
    assert re.search(
        r"expected interruption: the stop \(10 s at most\) and one start \(its last start took \d+ s\)", played.text
    )
    assert answers(host, 8000, KEY) == "200" and answers(host, 8001) == "200"
    assert host.run("systemctl is-active vllm-chat vllm-embed; systemctl is-enabled embed; true").split() == [
        "active",
        "active",
        "disabled",
    ]
    kept = "docker inspect -f '{{.Id}} {{.State.Running}} {{.HostConfig.RestartPolicy.Name}}' chat-before-adoption"
    assert host.run(kept) == f"{old} false no"
    again = inventory.play("adopt", vllm_adopt_folder="", vllm_hosts=HOST)
    assert again.rc == 0 and "no vLLM server that is not of this collection" in again.text
