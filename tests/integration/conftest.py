"""The lab's hosts for the tests: empty when a test asks for it, and compared before and after."""

from __future__ import annotations

import contextlib

import pytest

from tests.integration.harness import Inventory, service
from tests.integration.lab_host import LabHost

HOSTS = ("gpu1", "gpu2", "bare1")


@pytest.fixture(scope="session")
def lab():
    """Give the hosts of the lab by name; `python -m tests.lab up` made them."""
    return {name: LabHost(name) for name in HOSTS}


@pytest.fixture(scope="session")
def empty_host(lab):
    """Give a function that puts a host back to how the lab made it."""
    return lambda name: lab[name].reset()


@pytest.fixture
def lab_host(lab):
    """Give gpu1, empty."""
    lab["gpu1"].reset()
    return lab["gpu1"]


@pytest.fixture(scope="session")
def standin_lock(tmp_path_factory, lab):
    """Write the lock file of the stand-in image once, with the collection's own playbook."""
    inventory = Inventory.make(tmp_path_factory.mktemp("lock"), {"chat": service()})
    played = inventory.play("lock")
    assert played.rc == 0, played.text
    return inventory.folder / "vllm.lock.yml"


@pytest.fixture
def snapshots(lab):
    """Give a block that fails when the hosts it names differ afterwards."""

    @contextlib.contextmanager
    def unchanged(*names: str):
        before = {name: lab[name].snapshot() for name in names}
        yield
        after = {name: lab[name].snapshot() for name in names}
        differences = {name: after[name].difference(before[name]) for name in names}
        assert not any(differences.values()), differences

    return unchanged
