"""Each console block of the runbooks about changes runs as it stands there, on a host brought to its begin."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.harness import Inventory, Played, begin, end, service
from tests.integration.lab_host import LabHost
from tests.integration.runbook import blocks_of, run

HOST = "gpu2"
STATE = "/var/lib/gpuhosts-vllm/chat"
OLD, NEW = 1024, 512
QUICK = {"STANDIN_START_SECONDS": "1", "STANDIN_WARM_SECONDS": "0.5", "STANDIN_DEATH_SECONDS": "0.5"}
FOLLOWS = 17.0  # seconds: a module looks for fifteen
FAILS = {"STANDIN_EXIT_AT": "load", "STANDIN_ERROR": "RuntimeError: planted"}


@dataclass
class Scene:
    """The host and the inventory that a page begins with."""

    host: LabHost
    inventory: Inventory

    def wants(self, length: int, **env: str) -> None:
        """Let the inventory ask for a release of its own."""
        config = {"served-model-name": ["chat"], "max-model-len": length}
        self.inventory.declare({"chat": service(config=config, env={**QUICK, **env})})

    def has(self, length: int) -> None:
        """Let the host serve that release, committed, whatever it had before."""
        self.wants(length)
        there = self.host.run(f"test -e {STATE}/last_good && echo yes", check=False) == "yes"
        played = self.upgrades(vllm_retry="chat") if there else self.inventory.play("deploy")
        assert played.rc == 0, played.text

    def upgrades(self, **extra: str) -> Played:
        """Play the upgrade that the page is about, or the one before it."""
        return self.inventory.play("upgrade", vllm_confirm="chat", **extra)


def upgrade(scene: Scene) -> Iterator[None]:
    """It serves one release, the inventory asks for another one."""
    scene.has(OLD)
    scene.wants(NEW)
    yield


def changed(scene: Scene) -> Iterator[None]:
    """It serves a second release, the first one was good before it."""
    scene.has(OLD)
    scene.has(NEW)
    yield


def went_back(scene: Scene) -> Iterator[None]:
    """The inventory wants a release that failed on the host."""
    scene.has(OLD)
    scene.wants(NEW, **FAILS)
    assert scene.upgrades().rc != 0
    yield


def gave_up(scene: Scene) -> Iterator[None]:
    """The new release failed, and so did the last good one, which needs more room now than there is."""
    scene.has(OLD)
    gate = f"{STATE}/last_good/gate.json"
    kept = scene.host.run(f"cat {gate}")
    scene.host.run(f'sed -i \'s/"kv_floor_tokens": null/"kv_floor_tokens": 999999999/\' {gate}')
    scene.wants(NEW, **FAILS)
    assert scene.upgrades(vllm_retry="chat").rc != 0
    scene.host.run(f"cat > {gate} <<'X'\n{kept}\nX")
    yield


def driver_is_gone(scene: Scene) -> Iterator[None]:
    """A change whose driver's unit somebody has stopped."""
    scene.has(OLD)
    scene.wants(NEW, STANDIN_START_SECONDS="60")
    controller = begin(scene.inventory, "upgrade", "-e", "vllm_confirm=chat")
    tail = f'tail -1 {STATE}/journal.jsonl | grep -c \'"state": "starting"\''
    assert scene.host.wait(tail, "1", seconds=60)
    end(controller)
    time.sleep(FOLLOWS)  # the module's last look on the host would begin another driver
    scene.host.run("systemctl stop gpuhosts-vllm-run-chat")
    yield


# What each page begins with. Each further `yield` hands over to the next block of the page.
PAGES: dict[str, Callable[[Scene], Iterator[None]]] = {
    "upgrade": upgrade,
    "rollback": changed,
    "freeze": changed,
    "quarantine": went_back,
    "lost-lease": driver_is_gone,
    "rollback-failed": gave_up,
}


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory, standin_lock: Path, lab: dict[str, LabHost]) -> Scene:
    """The host, empty, with an inventory that is locked."""
    lab[HOST].reset()
    folder = tmp_path_factory.mktemp("runbooks")
    return Scene(lab[HOST], Inventory.make(folder, {}, hosts=(HOST,), lock=standin_lock))


@pytest.mark.parametrize("page", PAGES)
def test_the_console_blocks_of(page, scene, lab):
    assert lab[HOST] is scene.host
    blocks = blocks_of(page)
    prepare = PAGES[page](scene)
    for block in blocks:
        next(prepare, None)
        for shown in block:
            run(shown, scene.inventory, scene.host)
