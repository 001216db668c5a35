"""Private registries with a login and an own CA, and models from a hub: pinned, fetched once, served offline."""

from __future__ import annotations

import pytest

from tests.integration.harness import Inventory, service
from tests.lab import testing

HOST = "gpu2"
PASSWORD = testing.PRIVATE_PASSWORD


@pytest.fixture
def private(tmp_path, empty_host):
    """Give an inventory whose image lies in the private registry."""
    empty_host(HOST)
    inventory = Inventory.make(tmp_path, {"chat": service(image=testing.PRIVATE_IMAGE)}, hosts=(HOST,))
    inventory.declare(
        {"chat": service(image=testing.PRIVATE_IMAGE)},
        vllm_registry={
            "server": testing.PRIVATE_SERVER,
            "username": testing.PRIVATE_USER,
            "password": PASSWORD,
            "ca": testing.private_ca(),
        },
    )
    return inventory


def test_a_private_registry_with_a_login_and_an_own_ca_works(private, lab):
    locked = private.play("lock", "--diff")
    assert locked.rc == 0, locked.text
    played = private.play("deploy", "-vvv")
    assert played.rc == 0, played.text
    assert PASSWORD not in locked.text + played.text
    left = lab[HOST].run(f"grep -rls {PASSWORD} /root /etc /var/lib/gpuhosts-vllm /run /tmp || true")
    assert left == ""


def test_a_wrong_password_is_named_and_not_shown(private):
    private.declare(
        {"chat": service(image=testing.PRIVATE_IMAGE)},
        vllm_registry={
            "server": testing.PRIVATE_SERVER,
            "username": testing.PRIVATE_USER,
            "password": "wrong-secret-0815",
            "ca": testing.private_ca(),
        },
    )
    locked = private.play("lock")
    assert locked.rc != 0
    assert testing.PRIVATE_SERVER in locked.text and "vllm_registry" in locked.text
    assert "wrong-secret-0815" not in locked.text
    assert "Traceback" not in locked.text
