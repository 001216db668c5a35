"""Five hosts of the lab that these tests make for themselves, all with one committed service."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import docker
import pytest

from tests.integration.harness import Inventory
from tests.integration.lab_host import TOUCHED
from tests.integration.waves.fleet import FLEET, Fleet, chat, quick_to_notice
from tests.lab import debian, engine, hosts, model, names, state


def _remove(client: docker.DockerClient, name: str) -> None:
    place = names.Place(name, "", "")
    found = hosts.find(client, place)
    if found is not None:
        found.remove(force=True)
    hosts.remove_volume(client, place)


def _remove_all(client: docker.DockerClient) -> None:
    with ThreadPoolExecutor(max_workers=len(FLEET)) as pool:
        list(pool.map(lambda name: _remove(client, name), FLEET))


@pytest.fixture(scope="session")
def made_hosts():
    """The hosts; those that an earlier run was cut off with are made anew, and all of them go at the end."""
    client = engine.client()
    _remove_all(client)
    with state.only_one():
        for name in FLEET:
            place = hosts.new(client, name, names.DEBIAN_13, debian.of_this_machine())
            model.place(hosts.running(client, place.name), place.name)
    yield FLEET
    _remove_all(client)


@pytest.fixture(scope="session")
def fleet(made_hosts, tmp_path_factory, lab):
    """The fleet with its inventory, locked and deployed once."""
    folder = tmp_path_factory.mktemp("waves")
    inventory = Inventory.make(folder, {"chat": chat(1024)}, hosts=made_hosts)
    quick_to_notice(inventory)
    for verb in ("lock", "deploy"):
        played = inventory.play(verb, "--forks", "5")
        assert played.rc == 0, played.text
    TOUCHED.clear()
    return Fleet(inventory, lab)
