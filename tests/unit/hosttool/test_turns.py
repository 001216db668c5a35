# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Starts that could get the same GPU wait for each other, and for nobody who is dead."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.errors import ToolError
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.start_lease import take
from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.starting import _MARGIN
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import boots, starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.clock import Clock
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import make_folder
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths

HOURS = 3600.0


class Systemd:
    """Says of each unit what it is told."""

    def __init__(self):
        self.units = {}
        self.asked = []

    def __call__(self, argv, **_more):
        unit = argv[-1]
        self.asked.append(unit)
        active, sub, invocation = self.units.get(unit, ("inactive", "dead", ""))
        lines = [f"ActiveState={active}", f"SubState={sub}", f"InvocationID={invocation}"]
        return Result(tuple(argv), 0, "\n".join(lines), "")


class Ticks(Clock):
    """A clock that goes on when somebody sleeps; at a given time something happens."""

    def __init__(self):
        self.passed, self.at, self.happens, self.least = 100.0, None, None, 0.0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        self.passed += max(seconds, self.least)
        if self.at is not None and self.passed >= self.at:
            self.at = None
            self.happens()


class Host:
    """A folder that stands for a host with services that start."""

    def __init__(self, root):
        self.root, self.systemd, self.clock = str(root), Systemd(), Ticks()

    def begin(self, name, gpus, **more):
        """Let a start have its folder; its number."""
        paths = Paths(name, self.root)
        make_folder(paths.volatile)
        boot = {"marker": boots.marker(paths), "id": "k"}
        return starts.begin(paths, {"gpus": gpus, "boot": boot, "invocation_id": f"of-{name}", **more})

    def holds(self, name, gpus, **more):
        """Let a start be under way that has begun."""
        self.systemd.units[Paths(name).unit] = ("activating", "start-post", f"of-{name}")
        return self.begin(name, gpus, begun_monotonic=1.0, **more)

    def take(self, name, seq):
        paths = Paths(name, self.root)
        take(paths, seq, runner=self.systemd, clock=self.clock)
        return starts.read(paths, seq)


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


@pytest.fixture
def told(monkeypatch, tmp_path):
    """Listen to what is said to systemd."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind(str(tmp_path / "notify"))
    server.settimeout(1)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    yield lambda: server.recv(4096).decode()
    server.close()


def test_a_free_gpu_is_taken_at_once(host):
    known = host.take("embed", host.begin("embed", ["0"]))
    assert (known["begun_monotonic"], known["waited_seconds"]) == (100.0, 0.0)
    assert known["begun_at"] and "waited_for" not in known


def test_the_second_waits_until_the_first_serves(host, told):
    seq = host.holds("chat", ["0"])
    host.clock.at, host.clock.happens = 104.0, lambda: starts.update(Paths("chat", host.root), seq, {"ready": True})
    known = host.take("embed", host.begin("embed", ["0"]))
    assert (known["begun_monotonic"], known["waited_seconds"]) == (104.0, 4.0)
    assert known["waited_for"] == "chat (GPU 0)"
    assert told() == "STATUS=waiting for the start of chat (GPU 0)\nEXTEND_TIMEOUT_USEC=180000000"


def test_people_who_follow_the_run_are_told(host):
    host.holds("chat", "all")
    paths = Paths("embed", host.root)
    seq = host.begin("embed", ["1"])
    paths.open_run.write_text("r1\n")
    host.clock.at = 103.0
    host.clock.happens = host.systemd.units.clear
    host.take("embed", seq)
    assert paths.progress.read_text() == "starting: waiting for the start of chat (all GPUs)\n"


@pytest.mark.parametrize(
    "unit",
    [("failed", "failed", "of-chat"), ("activating", "auto-restart", "of-chat"), ("activating", "start-pre", "later")],
)
def test_a_claim_whose_owner_is_gone_holds_nobody_up(host, unit):
    host.holds("chat", ["0"])
    host.systemd.units[Paths("chat").unit] = unit
    assert host.take("embed", host.begin("embed", ["0"]))["waited_seconds"] == 0.0


def test_a_claim_of_an_earlier_boot_holds_nobody_up(host):
    host.holds("chat", ["0"])
    Paths("chat", host.root).boot_marker.unlink()
    assert host.take("embed", host.begin("embed", ["0"]))["waited_seconds"] == 0.0


def test_a_torn_file_holds_nobody_up(host):
    seq = host.holds("chat", ["0"])
    (Paths("chat", host.root).start(seq) / "state.json").write_text('{"gpus": ["0"], "boo')
    assert host.take("embed", host.begin("embed", ["0"]))["waited_seconds"] == 0.0


def test_other_gpus_and_none_are_nobodys_business(host):
    host.holds("chat", ["0"])
    assert host.take("embed", host.begin("embed", ["1"]))["waited_seconds"] == 0.0
    assert host.take("small", host.begin("small", "none"))["waited_seconds"] == 0.0
    assert host.systemd.asked == []


def test_who_holds_for_two_hours_is_named(host):
    host.holds("chat", ["0"])
    host.clock.least = 600.0
    with pytest.raises(ToolError, match=r"waited 7200 s for the start of chat \(GPU 0\), which has not ended; look"):
        host.take("embed", host.begin("embed", ["0"]))
    assert "begun_at" not in starts.read(Paths("embed", host.root), 1)


def test_whoever_waits_for_a_run_is_more_patient_than_the_wait():
    assert _MARGIN > 2 * HOURS


def test_a_lock_whose_holder_was_killed_is_free(host):
    lock = Paths("chat", host.root).starts_lock
    make_folder(lock.parent)
    program = (
        f"import fcntl,os,time; f=os.open({str(lock)!r}, 66); fcntl.flock(f, 2); print(1, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"1\n"
        holder.kill()
    assert host.take("embed", host.begin("embed", ["0"]))["waited_seconds"] == 0.0


def test_of_two_that_decide_at_once_one_waits(host):
    """Real threads and the real lock: whoever is second sees the claim of the first."""
    for name in ("chat", "embed"):
        host.systemd.units[Paths(name).unit] = ("activating", "start-pre", f"of-{name}")
    numbers = {name: host.begin(name, ["0"]) for name in ("chat", "embed")}

    class Once(Ticks):
        def sleep(self, _seconds):
            raise InterruptedError  # it has to wait

    def begin(name):
        try:
            take(Paths(name, host.root), numbers[name], runner=host.systemd, clock=Once())
        except InterruptedError:
            return "waits"
        return "begins"

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(begin, numbers)) == ["begins", "waits"]


def test_all_who_ask_at_once_get_one_marker_of_the_boot(tmp_path):
    program = (
        "from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import boots;"
        "from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths;"
        f"print(boots.marker(Paths('chat', {str(tmp_path)!r})))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    asked = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment, text=True)
        for _each in range(4)
    ]
    said = {process.communicate(timeout=60)[0] for process in asked}
    assert len(said) == 1 and said != {""}
    assert [path.name for path in Paths("chat", str(tmp_path)).boot_marker.parent.iterdir()] == ["boot"]
