# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""systemd, asked through a runner that answers as it does."""

from __future__ import annotations

import socket

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import notify, systemd
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result

SHOWN = """\
MainPID=560
Result=success
LoadState=loaded
ActiveState=activating
SubState=start-post
InvocationID=971f44d8a5ee46b1b55a57848ba051cf
StatusText=loading weights a=b
"""


def runner_that_says(out="", rc=0, err=""):
    calls = []

    def run(argv, **_more):
        calls.append(list(argv))
        return Result(tuple(argv), rc, out, err)

    run.calls = calls
    return run


def test_a_unit_is_read_from_show():
    unit = systemd.show("vllm-chat.service", runner=runner_that_says(SHOWN))
    assert (unit.load, unit.active, unit.sub, unit.main_pid) == ("loaded", "activating", "start-post", 560)
    assert unit.status_text == "loading weights a=b"
    assert unit.is_running


def test_a_unit_that_systemd_does_not_know():
    unit = systemd.parse_show("LoadState=not-found\nActiveState=inactive\nMainPID=0\nInvocationID=\n")
    assert not unit.is_running and unit.load == "not-found"


def test_no_systemd_is_none():
    assert systemd.show("x.service", runner=runner_that_says(rc=1, err="System has not been booted")) is None


def test_a_driver_is_a_service_of_its_own():
    run = runner_that_says()
    systemd.start_transient("d.service", ["/usr/local/bin/vllm-host", "run", "chat"], "Run of chat", runner=run)
    assert run.calls[0][0] == "systemd-run"
    assert run.calls[0][-4:] == ["--", "/usr/local/bin/vllm-host", "run", "chat"]
    assert "--unit=d.service" in run.calls[0] and "--collect" in run.calls[0]
    assert "--property=Restart=on-abnormal" in run.calls[0]  # killed, it goes on; an end of its own is the end


def test_the_words_of_the_main_process_without_an_invocation_are_none():
    run = runner_that_says("docker: Error\n\n")
    assert systemd.said_by_main("", runner=run) == [] and run.calls == []
    assert systemd.said_by_main("abc", runner=run) == ["docker: Error"]
    assert "_SYSTEMD_INVOCATION_ID=abc" in run.calls[0]


def test_notify_sends_one_datagram(tmp_path):
    path = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(path)
        assert notify.status("loading", 90.5, {"NOTIFY_SOCKET": path})
        assert manager.recv(1000) == b"STATUS=loading\nEXTEND_TIMEOUT_USEC=90500000"


def test_notify_without_a_manager_is_no_error(tmp_path):
    assert not notify.notify("STATUS=x", {})
    assert not notify.notify("STATUS=x", {"NOTIFY_SOCKET": "relative"})
    assert not notify.notify("STATUS=x", {"NOTIFY_SOCKET": str(tmp_path / "nobody")})
