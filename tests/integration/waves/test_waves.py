"""Five hosts change in waves: a host that fails or is lost ends them, its sibling ends legal, later hosts keep all."""

from __future__ import annotations

import re
import subprocess
import time

from tests.integration.harness import begin, end
from tests.integration.waves.fleet import FLEET, STATE, WORDS


def committed(changes, *hosts):
    return [host for host in hosts if changes[host]["result"] == "committed"] == list(hosts)


def test_five_hosts_change_one_first_and_then_two_at_a_time(fleet):
    before = fleet.currents()
    assert len(set(before)) == 1
    fleet.wants(512)
    played = fleet.upgrade("-e", "vllm_canary_confirm=5m")
    assert played.rc == 0, played.text
    assert re.search(r"^    latency, median of 5 .* ok$", played.text, re.M), played.text
    assert played.text.count("and it was confirmed") == 1
    after = fleet.currents()
    assert len(set(after)) == 1 and after != before
    changes = fleet.report()
    assert committed(changes, *FLEET)
    for host in FLEET:
        change = changes[host]
        assert f"releases/{change['before']}" == before[0] and f"releases/{change['after']}" == after[0]
        assert 0.5 < change["interruption_seconds"] < 60 and change["start_seconds"] > 0
        assert change["kv_tokens_before"] == change["kv_tokens_after"] == 2_097_152
    assert f"ansible-playbook gpuhosts.vllm.rollback --limit {','.join(FLEET)} -e vllm_confirm=chat" in played.text
    played = fleet.upgrade()  # there is nothing left to do
    assert played.rc == 0, played.text
    assert all(played.changes(host) == 0 for host in FLEET) and fleet.currents() == after


def test_a_host_that_fails_in_a_wave_of_two_ends_the_waves(fleet):
    """wave3 fails beside wave2; wave1 was the canary; wave4 and wave5 would have come after."""
    before = fleet.currents()
    later = fleet.journals("wave4", "wave5")
    fleet.wants(256, wave3={"STANDIN_EXIT_AT": "load", "STANDIN_ERROR": "RuntimeError: planted"})
    played = fleet.upgrade()
    assert played.rc != 0
    changes = fleet.report()
    assert [changes[host]["result"] for host in FLEET] == [
        *("committed", "committed", "rolled_back"),
        *("untouched", "untouched"),
    ]
    after = fleet.currents()
    assert after[2:] == before[2:] and after[0] == after[1] != before[0]
    assert fleet.journals("wave4", "wave5") == later
    assert "planted" in changes["wave3"]["reason"] + played.text
    played = fleet.take_back(played.text)
    assert played.rc == 0, played.text
    assert fleet.currents() == before


def test_a_host_that_is_lost_in_a_wave_of_two_ends_the_waves(fleet, lab):
    """wave2 is lost in the middle of its run: it ends that run by itself."""
    before = fleet.currents()
    later = fleet.journals("wave4", "wave5")
    fleet.wants(128)
    playing = begin(fleet.inventory, "upgrade", *WORDS)
    opened = fleet.lab["wave2"].run(f"wc -l < {STATE}/journal.jsonl")
    try:
        deadline = time.monotonic() + 120
        while lab["wave2"].run(f"wc -l < {STATE}/journal.jsonl") == opened:
            assert time.monotonic() < deadline and playing.poll() is None, (
                fleet.inventory.folder / "began"
            ).read_text()
            time.sleep(0.1)
        lab["wave2"].run("ip link set eth0 down")
        playing.wait(timeout=150)
    except subprocess.TimeoutExpired:
        end(playing)
    finally:
        lab["wave2"].run("ip link set eth0 up")
    text = (fleet.inventory.folder / "began").read_text()
    assert playing.returncode not in (0, None, -9), text
    changes = fleet.report()
    assert [changes[host]["result"] for host in FLEET] == [
        *("committed", "unreachable", "committed"),
        *("untouched", "untouched"),
    ], text
    assert lab["wave2"].wait(f"tail -1 {STATE}/journal.jsonl | grep -c '\"committed\"'", "1", seconds=60)
    after = fleet.currents()
    assert after[3:] == before[3:] and after[0] == after[1] == after[2] != before[0]
    assert fleet.journals("wave4", "wave5") == later


def test_a_canary_that_differs_is_called_back(fleet):
    """It passes its own gate, and is slow: beside nothing else it is compared with its own past."""
    before = fleet.current("wave5")
    fleet.wants(96, wave5={"STANDIN_TOKEN_SECONDS": "0.2"})
    played = fleet.upgrade("-e", "vllm_canary_confirm=5m", "--limit", "wave5")
    assert played.rc != 0
    change = fleet.report()["wave5"]
    assert change["result"] == "rolled_back" and "chat: latency, median of 5: " in change["reason"], played.text
    assert re.search(r"^    latency, median of 5 .* DIFFERS$", played.text, re.M), played.text
    assert fleet.current("wave5") == before


def test_a_canary_whose_controller_is_gone_goes_back_by_itself(fleet, lab):
    before = fleet.current("wave4")
    fleet.wants(80)
    playing = begin(fleet.inventory, "upgrade", *WORDS, "-e", "vllm_canary_confirm=5s", "--limit", "wave4")
    try:
        assert lab["wave4"].wait("cat /run/gpuhosts-vllm/chat/awaits | grep -c change", "1", seconds=90)
    finally:
        end(playing)
    assert lab["wave4"].wait(f"tail -1 {STATE}/journal.jsonl | grep -c '\"rolled_back\"'", "1", seconds=60)
    assert "nobody confirmed it within 5 s" in lab["wave4"].run(f"cat {STATE}/journal.jsonl")
    assert fleet.current("wave4") == before
