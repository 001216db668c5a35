"""One service's life on one host, in order, with the stand-in engine: bare, deployed, drifted, stopped, started, gone.

Each test goes on from where the one before it ended; the module's fixture begins with an empty host.
"""

from __future__ import annotations

import pytest

from tests.integration.harness import Inventory, ansible, service

HOST = "gpu1"
SECRET = "planted-key-4711-never-shown"


@pytest.fixture(scope="module")
def inventory(tmp_path_factory, standin_lock, empty_host):
    """Give the inventory of the whole module, and begin with an empty host."""
    empty_host(HOST)
    services = {"chat": service()}
    return Inventory.make(
        tmp_path_factory.mktemp("deploy"),
        services,
        lock=standin_lock,
        vllm_secrets={"chat": {"VLLM_API_KEY": SECRET}},
    )


@pytest.fixture(scope="module")
def life():
    """Carry what one test saw to the next."""
    return {}


def identity(host):
    """Say which start of which container serves now."""
    return (
        host.run("systemctl show -P InvocationID vllm-chat.service"),
        host.run("docker inspect -f '{{.Id}} {{.State.StartedAt}}' vllm-chat"),
    )


def test_check_mode_predicts_a_deployment_and_changes_nothing(inventory, lab, snapshots, life):
    with snapshots(HOST):
        played = inventory.play("deploy", "--check", "--diff")
    assert played.rc == 0, played.text
    assert played.changes(HOST) > 0
    life["predicted"] = {task for task, _host in played.changed}


def test_deploy_ends_with_a_server_that_generates(inventory, lab, life):
    before = lab[HOST].snapshot()
    played = inventory.play("deploy", "--diff", "-vv")
    assert played.rc == 0, played.text
    assert "generated 8 tokens" in played.text
    assert "KV cache" in played.text
    assert SECRET not in played.text
    life["changed"] = {task for task, _host in played.changed}
    life["difference"] = lab[HOST].snapshot().difference(before)
    answer = lab[HOST].run(
        "curl -sf http://127.0.0.1:8000/v1/completions -H 'Content-Type: application/json' "
        f'-H \'Authorization: Bearer {SECRET}\' -d \'{{"model": "chat", "prompt": "Hello", "max_tokens": 4}}\''
    )
    assert '"finish_reason"' in answer


def test_check_mode_had_predicted_it(life):
    unpredicted = life["changed"] - life["predicted"]
    # A run on the host can only be predicted as a whole; what it does is the host's business.
    assert not unpredicted, f"these tasks changed something that --check had not predicted: {unpredicted}"


def test_the_changed_tasks_are_what_the_snapshots_show(life):
    paths = "\n".join(life["difference"])
    seen = {
        "Write the secrets": "/etc/gpuhosts-vllm/chat/secrets",
        "Stage the release": "/var/lib/gpuhosts-vllm/chat/releases/rel-",
        "Write the unit": "/etc/systemd/system/vllm-chat.service",
        "Let Docker bring the services back": "docker.service.wants/vllm-chat.service",
        "Install the tool": "/usr/local/bin/vllm-host",
        "Run every change to its end": "/var/lib/gpuhosts-vllm/chat/journal.jsonl",
    }
    for task, path in seen.items():
        assert any(task in changed for changed in life["changed"]), f"{task} did not say changed: {life['changed']}"
        assert path in paths, f"{task} said changed, but {path} is as it was"


def test_a_secret_is_readable_for_the_container_and_nobody_else(lab):
    assert lab[HOST].run("stat -c '%a %u' /etc/gpuhosts-vllm/chat/secrets") == "600 0"
    shown = lab[HOST].run(
        "docker inspect vllm-chat; cat /var/lib/gpuhosts-vllm/chat/current/*; systemctl cat vllm-chat"
    )
    assert SECRET not in shown
    assert "VLLM_API_KEY" not in lab[HOST].run("docker inspect -f '{{.Config.Env}}' vllm-chat")


def test_the_second_deploy_changes_nothing(inventory, lab, life):
    before, snapshot = identity(lab[HOST]), lab[HOST].snapshot()
    played = inventory.play("deploy")
    assert played.rc == 0, played.text
    assert played.changes(HOST) == 0, played.changed
    assert identity(lab[HOST]) == before
    assert lab[HOST].snapshot().difference(snapshot) == []
    ping = ansible("ansible", HOST, "-i", str(inventory.folder), "-m", "ansible.builtin.ping")
    print(f"second deploy {played.seconds:.1f} s a host, ansible ping {ping.seconds:.1f} s")


def test_check_mode_on_a_deployed_host_predicts_nothing(inventory, lab, snapshots):
    with snapshots(HOST):
        played = inventory.play("deploy", "--check", "--diff")
    assert (played.rc, played.changes(HOST)) == (0, 0), played.text


def test_verify_proves_the_service_and_changes_nothing(inventory, snapshots):
    with snapshots(HOST):
        played = inventory.play("verify")
    assert (played.rc, played.changes(HOST)) == (0, 0), played.text
    assert "Verification: 1 service on 1 host, no error." in played.text


def test_a_definition_that_differs_leaves_the_running_service_alone(inventory, lab, snapshots):
    before = identity(lab[HOST])
    inventory.declare({"chat": service(config={"served-model-name": ["chat"], "max-model-len": 512})})
    with snapshots(HOST):
        checked = inventory.play("deploy", "--check", "--diff")
        played = inventory.play("deploy")
    for run in (checked, played):
        assert run.rc != 0
        assert all(word in run.text for word in ("max-model-len", "512", "1024", "gpuhosts.vllm.upgrade")), run.text
        assert run.changes(HOST) == 0
    assert identity(lab[HOST]) == before
    inventory.declare({"chat": service()}, vllm_secrets={"chat": {"VLLM_API_KEY": SECRET}})


def test_plan_says_that_nothing_would_change(inventory, snapshots):
    with snapshots(HOST):
        played = inventory.play("plan")
    assert played.rc == 0, played.text
    assert "unchanged: it runs what the inventory wants (no downtime)" in played.text


def test_stop_needs_a_word_that_names_the_service(inventory, lab, snapshots):
    before = identity(lab[HOST])
    with snapshots(HOST):
        silent = inventory.play("stop")
        wrong = inventory.play("stop", vllm_confirm="chst")
    assert silent.rc != 0 and "-e vllm_confirm=NAME" in silent.text
    assert wrong.rc != 0 and "chst" in wrong.text and "Services of these hosts: chat" in wrong.text
    assert identity(lab[HOST]) == before


def test_stop_stops_and_leaves_no_container(inventory, lab):
    played = inventory.play("stop", vllm_confirm="chat")
    assert played.rc == 0, played.text
    assert lab[HOST].run("systemctl is-active vllm-chat || true") == "inactive"
    assert lab[HOST].run("docker ps -aq") == ""
    assert lab[HOST].run("ls /var/lib/gpuhosts-vllm/chat/starts/1") != ""


def test_a_stopped_service_stays_stopped_when_deployed_again_and_over_a_restart_of_docker(inventory, lab):
    played = inventory.play("deploy")
    assert (played.rc, played.changes(HOST)) == (0, 0), played.text
    assert "stays stopped" in played.text
    lab[HOST].run("systemctl stop docker.socket docker.service && systemctl start docker.service")
    assert lab[HOST].run("systemctl is-active vllm-chat || true") == "inactive"


def test_start_brings_it_back_and_proves_it(inventory, lab):
    played = inventory.play("start", vllm_confirm="chat")
    assert played.rc == 0, played.text
    assert "generated 8 tokens" in played.text
    assert lab[HOST].run("systemctl is-active vllm-chat") == "active"


def test_docker_brings_a_running_service_back(lab):
    lab[HOST].run("systemctl stop docker.socket docker.service && systemctl start docker.service")
    assert lab[HOST].wait("systemctl is-active vllm-chat", "active", seconds=60)


def test_check_mode_works_with_docker_down(inventory, lab, snapshots):
    lab[HOST].run("systemctl stop docker.socket docker.service")
    try:
        with snapshots(HOST):
            played = inventory.play("plan", "--check", "--diff")
            deployed = inventory.play("deploy", "--check", "--diff")
    finally:
        lab[HOST].run("systemctl start docker.service")
    assert played.rc == 0, played.text
    assert "Traceback" not in deployed.text
    assert lab[HOST].wait("systemctl is-active vllm-chat", "active", seconds=60)


def test_a_service_that_left_the_inventory_is_named_and_can_be_removed(inventory, lab):
    inventory.declare({})
    planned = inventory.play("plan")
    assert planned.rc == 0, planned.text
    assert "is on the host but no longer in the inventory" in planned.text
    assert "gpuhosts.vllm.remove" in planned.text
    removed = inventory.play("remove", vllm_confirm="chat")
    assert removed.rc == 0, removed.text
    assert lab[HOST].run("docker ps -aq") == ""
    left = lab[HOST].run("ls /etc/systemd/system/vllm-chat.service /etc/gpuhosts-vllm/chat/secrets 2>&1 || true")
    assert left.count("No such file") == 2
