"""The lab's hosts for the tests: empty when a test asks for it, compared before and after, judged after every test."""

from __future__ import annotations

import contextlib

import pytest

from tests.integration.harness import Inventory, service
from tests.integration.lab_host import TOUCHED, Lab, LabHost
from tests.oracle.legal import assert_legal

HOSTS = ("gpu1", "gpu2", "bare1", "old1")
FAILED = pytest.StashKey[bool]()


def pytest_configure(config):
    """Name the markers of these tests."""
    text = "ends(open_run=False, docker_up=True): what assert_legal shall allow after this test, on purpose"
    config.addinivalue_line("markers", text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Remember that a test failed: whatever state it left is then no second failure."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(autouse=True)
def legal_hosts(request, lab):
    """Every test leaves the hosts that it touched in a legal state."""
    yield
    touched = sorted(TOUCHED)
    TOUCHED.clear()
    marker = request.node.get_closest_marker("ends")
    for name in touched if not request.node.stash.get(FAILED, False) else []:
        assert_legal(lab[name].infra, **(marker.kwargs if marker else {}))
    TOUCHED.clear()


@pytest.fixture(scope="session")
def lab():
    """Give the hosts of the lab by name; `python -m tests.lab up` made them."""
    return Lab({name: LabHost(name) for name in HOSTS})


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
def standin_lock(tmp_path_factory, request, lab):
    """Write the lock file of the stand-in image once, with the collection's own playbook, as the lane's host sees it.

    Another lane may be restarting every other host right now.
    """
    folder = request.session.items[0].path.parent.name
    host = folder if folder in HOSTS else "gpu2"
    inventory = Inventory.make(tmp_path_factory.mktemp("lock"), {"chat": service()}, hosts=(host,))
    played = inventory.play("lock")
    assert played.rc == 0, played.text
    TOUCHED.discard(host)  # a lock changes nothing, and what an earlier run left there is not this test's
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
