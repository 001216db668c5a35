# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The help text of an image: asked once, kept, and never of more than a throw-away container."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import image_options
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import TIMED_OUT, Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.image_options import NoHelp, image_help
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths

IMAGE = "sha256:" + "ab" * 32
TEXT = "usage: vllm serve\n\noptions:\n  --model MODEL         The model. (default: None)\n" + " " * 1000


class Docker:
    """Answers what it is told, and keeps what it was asked."""

    def __init__(self, out=TEXT, rc=0, err=""):
        self.answer, self.asked = (rc, out, err), []

    def __call__(self, argv, *, timeout):
        self.asked.append((list(argv), timeout))
        return Result(tuple(argv), *self.answer)


@pytest.fixture
def paths(tmp_path):
    return Paths("chat", str(tmp_path))


def test_the_image_is_asked_once_and_then_a_file(paths):
    docker = Docker()
    assert [image_help(paths, IMAGE, runner=docker) for _time in range(3)] == [TEXT] * 3
    ((argv, timeout),) = docker.asked
    assert timeout == 150
    assert argv[:2] == ["docker", "run"] and argv[argv.index("--entrypoint") + 2] == IMAGE
    text = " ".join(argv)
    assert all(each in text for each in ("--rm", "--pull never", "--network none", "--log-driver none"))
    assert "--label io.gpuhosts.vllm.probe=chat" in text and "--name vllm-chat-options" in text
    assert not {"--gpus", "--device", "--mount", "--env"} & {*argv}
    kept = json.loads((paths.image_options(IMAGE)).read_text())
    assert (kept["image_id"], kept["help"]) == (IMAGE, TEXT)
    assert str(paths.image_options(IMAGE)).endswith(f"/var/cache/gpuhosts-vllm/options/{'ab' * 32}.json")


@pytest.mark.parametrize(
    "left", ["", "{", "[]", "null", '{"schema": 1}', '{"schema": 1, "image_id": "x", "help": "y"}']
)
def test_what_is_kept_and_torn_or_of_another_image_is_asked_again(paths, left):
    path = paths.image_options(IMAGE)
    path.parent.mkdir(parents=True)
    path.write_text(left)
    assert image_help(paths, IMAGE, runner=Docker()) == TEXT


@pytest.mark.parametrize(
    ("docker", "words"),
    [
        (Docker("", 125, "docker: Error response from daemon: no such image"), "no such image"),
        (Docker("", TIMED_OUT, "docker did not end within 150 s"), "150 s"),
        (Docker("", 0, "Failed to infer device type"), "Failed to infer device type"),
        (Docker("x" * 2000), "said"),
        (Docker(TEXT + "x" * (1 << 20)), "more than 1,048,576 bytes"),
    ],
)
def test_an_image_that_does_not_say_its_options_says_why_and_nothing_is_kept(paths, docker, words):
    with pytest.raises(NoHelp, match=words):
        image_help(paths, IMAGE, runner=docker)
    assert not paths.image_options(IMAGE).exists()


def in_shell(tmp_path, vllm, seconds=None):
    """Run what the container runs, with a `vllm` of our own."""
    program = tmp_path / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{vllm}\n")
    program.chmod(0o755)
    script = image_options._ASK
    if seconds is not None:
        script = script.replace(f"sleep {image_options.SECONDS}", f"sleep {seconds}")
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    argv, pipe = [shutil.which("sh"), "-c", script], subprocess.PIPE
    with subprocess.Popen(argv, env=env, stdout=pipe, stderr=pipe, start_new_session=True) as process:
        if seconds is not None:
            assert process.wait(10) == -9
            os.killpg(process.pid, 9)  # in a container all of it ends with the shell
        out = process.stdout.read(2 << 20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
    return out


def test_only_what_it_prints_for_people_is_read(tmp_path):
    assert in_shell(tmp_path, "echo W1201 noise >&2; echo '  --model MODEL'") == b"  --model MODEL\n"


def test_no_more_than_a_mebibyte_is_read_of_one_that_never_ends(tmp_path):
    assert len(in_shell(tmp_path, "yes")) == 1 << 20


def test_one_that_says_nothing_ends_after_its_time(tmp_path):
    assert in_shell(tmp_path, "exec sleep 60", seconds=0.2) == b""
