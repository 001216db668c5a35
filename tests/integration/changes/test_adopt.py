"""Servers that somebody started by hand: proposed, taken over, and given back when ours does not prove itself.

The plays are the console blocks of the runbook, as they stand there.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.integration.harness import STANDIN, Inventory
from tests.integration.lab_host import TOUCHED
from tests.integration.runbook import blocks_of, run

HOST = "gpu2"
KEY = "planted-key-of-the-old-server-0815"
TOKEN = "hf_" + "plantedTokenOfTheOldServer42"
CONTAINER = (
    "docker run -d --name embed --restart unless-stopped -p 8000:8000 --shm-size 128m -v /srv/models:/models:ro "
    f"-e HF_TOKEN={TOKEN} -e VLLM_LOGGING_LEVEL=INFO {STANDIN} "
    f"/models/tiny-llama --max-model-len 1024 --api-key {KEY}"
)
UNIT = (
    "[Unit]\\nAfter=docker.service\\n[Service]\\nExecStartPre=-/usr/bin/docker rm -f chat\\n"
    "ExecStart=/usr/bin/docker run --rm --name chat -p 127.0.0.1:8001:8000 -v /srv/models:/models:ro "
    f"{STANDIN} --model /models/tiny-llama --served-model-name chat --max-model-len 1024\\n"
    "ExecStop=/usr/bin/docker stop chat\\n[Install]\\nWantedBy=multi-user.target\\n"
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
QUICK = {"STANDIN_START_SECONDS": "1", "STANDIN_WARM_SECONDS": "0.5", "STANDIN_DEATH_SECONDS": "0.5"}
FAILS = {"STANDIN_EXIT_AT": "load", "STANDIN_ERROR": "RuntimeError: planted"}
PROPOSED, TAKEN, GIVEN_BACK = blocks_of("adopt")
SECRETS = {"embed": {"VLLM_API_KEY": KEY, "HF_TOKEN": TOKEN}}
ANSWERS = "curl -s -o /dev/null -w '%{http_code}' "


@pytest.fixture(scope="module")
def story(tmp_path_factory, lab, standin_lock):
    """Start two servers by hand, one under a unit and one in a container of its own, and let them be proposed."""
    host, folder = lab[HOST], tmp_path_factory.mktemp("adopt")
    host.reset()
    host.run(f"echo '{MIRROR}' >/etc/docker/daemon.json && systemctl reload docker")
    host.run(f"docker pull -q {STANDIN} && {CONTAINER}")
    host.run(f"printf '{UNIT}' > /etc/systemd/system/chat.service && systemctl daemon-reload")
    host.run("systemctl enable -q --now chat")
    for port in (8000, 8001):
        assert host.wait(f"{ANSWERS} localhost:{port}/health", "200", seconds=30)
    inventory = Inventory.make(folder / "inventory", {}, hosts=(HOST,), lock=standin_lock)
    inventory.declare({}, vllm_adopt_folder=str(folder / "out"))
    before = host.snapshot()
    for shown in PROPOSED:
        run(shown, inventory, host)
    assert host.snapshot().difference(before) == []
    files = {path.stem: path.read_text(encoding="utf-8") for path in Path(folder / "out" / HOST).glob("*.yml")}
    yield host, inventory, files
    host.run("systemctl disable -q --now chat; rm -f /etc/systemd/system/chat.service; systemctl daemon-reload")
    host.run("docker ps -aq --filter name=^/embed | xargs -r docker rm -f")
    host.reset()


def definitions(files):
    """Give the proposed definitions by name."""
    return {
        name: found for text in files.values() for name, found in yaml.safe_load(text)["vllm_extra_services"].items()
    }


def test_both_servers_are_proposed_and_no_secret_is(story):
    host, _inventory, files = story
    assert KEY in host.run("docker inspect embed") and TOKEN in host.run("docker inspect embed")
    assert not [name for name, text in files.items() if KEY in text or TOKEN in text]
    assert definitions(files) == {
        "chat": {
            "image": STANDIN,
            "model": "/srv/models/tiny-llama",
            "port": 8001,
            "gpus": "none",
            "config": {"served-model-name": ["chat"], "max-model-len": 1024},
        },
        "embed": {
            "image": STANDIN,
            "model": "/srv/models/tiny-llama",
            "port": 8000,
            "bind": "0.0.0.0",
            "gpus": "none",
            "config": {"max-model-len": 1024, "served-model-name": ["/models/tiny-llama"]},
            "env": {"VLLM_LOGGING_LEVEL": "INFO"},
            "shm_size": "128m",
        },
    }
    assert "VLLM_API_KEY: found in --api-key" in files["embed"]
    TOUCHED.discard(HOST)  # engines that are not ours run there, on purpose


def test_one_is_taken_over_and_one_is_given_back(story):
    host, inventory, files = story
    quick = {"gate": {"soak": "1s", "silence": "30s"}, "env": QUICK}
    found = {name: {**each, **quick} for name, each in definitions(files).items()}
    found["embed"]["env"] = {**QUICK, **FAILS}
    inventory.declare(found, vllm_secrets=SECRETS)
    old = host.run("docker inspect -f '{{.Id}}' embed")
    for shown in (*TAKEN, *GIVEN_BACK):
        run(shown, inventory, host)
    assert host.run("systemctl is-enabled chat", check=False) == "disabled"
    assert host.run("docker inspect -f '{{.Id}}' embed") == old
    assert host.run("docker ps -a --format '{{.Names}}'").split() == ["vllm-chat", "embed"]
    assert host.wait(f"{ANSWERS} localhost:8000/health", "200", seconds=30)
    models = f"{ANSWERS} localhost:8000/v1/models"
    assert (host.run(models), host.run(f"{models} -H 'Authorization: Bearer {KEY}'")) == ("401", "200")
    assert host.run(f"{ANSWERS} localhost:8001/v1/models") == "200"
    host.run("docker rm -f embed")  # an engine that is not ours
