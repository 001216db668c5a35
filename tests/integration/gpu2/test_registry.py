"""Private registries with a login and an own CA, and models from a hub: pinned, fetched once, served offline."""

from __future__ import annotations

import pytest

from tests.integration.harness import Inventory, service
from tests.lab import names, pki

HOST = "gpu2"
SERVER = f"{names.PRIVATE.address}:{names.PRIVATE_PORT}"
IMAGE = f"{SERVER}/lab/vllm-standin:v0.32.0"
HUB = f"http://{names.HUB.address}:{names.HUB_PORT}"


def registry(password):
    """Give what the inventory says of the private registry."""
    ca = pki.ca_file().read_text(encoding="ascii")
    return {"server": SERVER, "username": names.PRIVATE_USER, "password": password, "ca_cert": ca}


@pytest.fixture
def private(tmp_path, lab):
    """Give a function that makes an inventory whose image lies in the private registry, on an empty host."""
    lab[HOST].reset()
    services = {"chat": service(image=IMAGE)}

    def make(password):
        inventory = Inventory.make(tmp_path, services, hosts=(HOST,))
        inventory.declare(services, vllm_registry=registry(password))
        return inventory

    return make


def test_a_private_registry_with_a_login_and_an_own_ca_works(private, lab):
    inventory = private(names.PRIVATE_PASSWORD)
    lab[HOST].forget_images(IMAGE)
    locked = inventory.play("lock", "--diff")
    assert locked.rc == 0, locked.text
    played = inventory.play("deploy", "-vvv")
    assert played.rc == 0, played.text
    assert names.PRIVATE_PASSWORD not in locked.text + played.text
    places = "/root /etc /var/lib/gpuhosts-vllm /run /tmp /usr/local/lib/gpuhosts-vllm"
    assert lab[HOST].run(f"grep -rls -- {names.PRIVATE_PASSWORD} {places} || true") == ""


def test_a_wrong_password_is_named_and_not_shown(private):
    locked = private("wrong-secret-0815").play("lock")
    assert locked.rc != 0
    assert SERVER in locked.text and "vllm_registry" in locked.text
    assert "wrong-secret-0815" not in locked.text
    assert "Traceback" not in locked.text


def test_a_model_of_a_hub_is_fetched_once_and_served_without_the_hub(tmp_path, lab, standin_lock):
    lab[HOST].reset()
    model = {"model": names.GATED_MODEL, "revision": names.MODEL_REVISION}
    settings = {"vllm_hf_endpoint": HUB, "vllm_secrets": {"chat": {"HF_TOKEN": names.HUB_TOKEN}}}
    inventory = Inventory.make(tmp_path, {"chat": service(**model)}, hosts=(HOST,), lock=standin_lock, **settings)
    played = inventory.play("deploy", "-vvv")
    assert played.rc == 0, played.text
    assert names.HUB_TOKEN not in played.text
    environment = lab[HOST].run("docker inspect -f '{{.Config.Env}}' vllm-chat")
    assert "HF_HUB_OFFLINE=1" in environment and names.HUB_TOKEN not in environment
    again = inventory.play("deploy")
    assert (again.rc, again.changes(HOST)) == (0, 0), again.text


def test_a_gated_model_without_a_token_is_refused_with_the_repository_and_the_remedy(tmp_path, lab, standin_lock):
    lab[HOST].reset()
    services = {"chat": service(model=names.GATED_MODEL, revision=names.MODEL_REVISION)}
    inventory = Inventory.make(tmp_path, services, hosts=(HOST,), lock=standin_lock, vllm_hf_endpoint=HUB)
    played = inventory.play("deploy")
    assert played.rc != 0
    assert all(word in played.text for word in (HOST, "chat", names.GATED_MODEL, "HF_TOKEN")), played.text
    assert "Traceback" not in played.text
