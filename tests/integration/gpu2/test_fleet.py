"""Several hosts at once: one wrong host stops all of them, and one report tells of all of them."""

from __future__ import annotations

from tests.integration.harness import Inventory, service


def test_one_wrong_host_stops_all_hosts(tmp_path, standin_lock, snapshots):
    inventory = Inventory.make(tmp_path, {"chat": service()}, hosts=("gpu2", "bare1"), lock=standin_lock)
    (tmp_path / "host_vars").mkdir()
    (tmp_path / "host_vars" / "bare1.yml").write_text('{"vllm_extra_services": {"chat": {"port": -1}}}')
    with snapshots("gpu2", "bare1"):
        played = inventory.play("deploy")
    assert played.rc != 0
    assert "bare1" in played.text and "-1" in played.text


def test_check_mode_works_on_a_bare_host_and_changes_nothing(tmp_path, standin_lock, lab, snapshots):
    lab["bare1"].reset()
    inventory = Inventory.make(tmp_path, {"chat": service()}, hosts=("bare1",), lock=standin_lock)
    with snapshots("bare1"):
        played = inventory.play("deploy", "--check", "--diff")
    assert played.rc == 0, played.text
    assert played.changes("bare1") > 5
    assert "docker.io" in played.text
