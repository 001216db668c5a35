# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Containers, through a docker that answers as it does."""

from __future__ import annotations

import json
import time

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import containers
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result

DOWN = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
GONE = "Error response from daemon: No such container: abc"


def docker_that_says(out="", rc=0, err=""):
    return lambda argv, **_more: Result(tuple(argv), rc, out, err)


def test_one_container_is_read_from_inspect():
    said = json.dumps(
        [
            {
                "Id": "abc",
                "Name": "/vllm-chat",
                "Image": "sha256:1",
                "State": {"Status": "exited", "ExitCode": 137, "OOMKilled": True, "Error": "", "FinishedAt": "t"},
                "Config": {"Labels": {"io.gpuhosts.vllm.service": "chat"}},
            }
        ]
    )
    state = containers.inspect("abc", runner=docker_that_says(said))
    assert (state.name, state.exit_code, state.oom_killed, state.is_running) == ("vllm-chat", 137, True, False)
    assert state.labels == {"io.gpuhosts.vllm.service": "chat"}


def test_events_are_asked_for_to_this_very_moment():
    """Docker cuts `--until 0s` to whole seconds: a kill half a second ago would be missing."""
    asked = []

    def docker(argv, **_more):
        asked.append(argv)
        return Result(tuple(argv), 0, "start\nkill 9\ndie\n", "")

    before = time.time()
    assert containers.events("c1", "2026-11-30T17:14:18.611Z", runner=docker) == ["start", "kill 9", "die"]
    until = asked[0][asked[0].index("--until") + 1]
    assert before - 1e-3 <= float(until) <= time.time() and "." in until


def test_what_is_not_there_is_none_and_docker_down_is_an_error():
    assert containers.inspect("abc", runner=docker_that_says("[]", 1, GONE)) is None
    assert containers.remove("abc", runner=docker_that_says("", 1, GONE)) is False
    for call in (containers.inspect, containers.remove, containers.image_present):
        with pytest.raises(containers.DockerError, match="Cannot connect"):
            call("abc", runner=docker_that_says("", 1, DOWN))
    with pytest.raises(containers.DockerError):
        containers.with_label("a", "b", runner=docker_that_says("", 127, "docker: No such file"))


@pytest.mark.parametrize(
    ("user", "image_user", "expected"),
    [
        ("1000:2000", "", (1000, 2000)),
        ("1000", "", (1000, 0)),
        (None, "", (0, 0)),
        (None, "2000:0", (2000, 0)),
        (None, "vllm", (2000, 44)),
        ("vllm:video", "", (2000, 44)),
    ],
)
def test_the_user_inside_the_image(user, image_user, expected):
    def docker(argv, **_more):
        out = image_user + "\n" if "inspect" in argv else "2000\n44\n"
        return Result(tuple(argv), 0, out, "")

    assert containers.user_of("sha256:1", user, runner=docker) == expected


def test_docker_s_reason_without_its_frame():
    result = Result(
        ("docker",),
        125,
        "",
        "docker: Error response from daemon: could not select device driver.\nSee 'docker run --help'.\n",
    )
    assert containers.docker_reason(result) == "could not select device driver."
    assert containers.docker_reason(Result(("docker",), 3, "", "")) == "exit 3"
    assert containers.run_probe(["docker"], runner=lambda argv, **_more: Result((), 0, "", "")) is None


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """A docker whose log is what the test writes, following it until the file ``ended`` is there."""
    program = tmp_path / "docker"
    program.write_text(
        f"""#!/bin/sh
cd {tmp_path}
[ "$2" = --follow ] || {{ cat log; exit; }}
tail -n +1 -f log & tail=$!
trap 'kill $tail' TERM
while [ ! -e ended ]; do sleep 0.05; done
sleep 0.2
kill $tail
"""
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_the_whole_log_with_its_progress_bars(docker):
    (docker / "log").write_bytes(b"one\n 10%\r 20%\r\ntwo \xff\nlast")
    assert list(containers.log_lines("abc")) == ["one", " 10%", " 20%", "two \ufffd", "last"]


def test_docker_s_own_word_is_no_line_of_the_log(docker):
    fails = "#!/bin/sh\necho one\necho two\necho 'error from daemon in stream: EOF' >&2\nexit 1\n"
    (docker / "docker").write_text(fails)
    lines = containers.log_lines("abc")
    assert [next(lines), next(lines)] == ["one", "two"]
    with pytest.raises(containers.DockerError, match="error from daemon in stream: EOF"):
        next(lines)


def test_a_line_without_an_end_comes_in_parts(docker):
    (docker / "log").write_bytes(b"x" * 200_000 + b"\nlast\n")
    assert [len(line) for line in containers.log_lines("abc")] == [65536, 65536, 65536, 3392, 4]


def test_a_log_is_followed_without_waiting(docker):
    (docker / "log").write_bytes(b"one\ntw")
    stream = containers.LogStream("abc")
    try:
        assert until(stream, 1) == ["one"]
        with (docker / "log").open("ab") as log:
            log.write(b"o\n 5%\r")
        assert until(stream, 2) == ["two", " 5%"]
        with (docker / "log").open("ab") as log:
            log.write(b"no line end")
        (docker / "ended").touch()
        assert until(stream, 1) == ["no line end"]
        assert stream.ended
    finally:
        stream.close()


def until(stream, count):
    lines, ends = [], time.monotonic() + 5
    while len(lines) < count and time.monotonic() < ends:
        lines += stream.read()
        time.sleep(0.02)
    return lines
