# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Further words for docker run: read as Docker reads them, none of them the collection's own."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.docker_args import docker_options


@pytest.mark.parametrize(
    ("words", "place"),
    [
        (["--name", "x"], "the collection sets it"),
        (["--name=x"], "the collection sets it"),
        (["--restart=always"], "systemd restarts"),
        (["--rm"], "evidence"),
        (["-d"], "foreground"),
        (["-it"], "no terminal"),
        (["-v", "/a:/b"], "mounts"),
        (["-v/a:/b"], "mounts"),
        (["--volume=/a:/b"], "mounts"),
        (["--mount", "type=bind,source=/a,target=/b"], "mounts"),
        (["--gpus", "all"], "gpus"),
        (["--device=/dev/x"], "devices"),
        (["--shm-size", "1g"], "shm_size"),
        (["--ipc=host"], "shm_size"),
        (["-p", "80:80"], "bind and port"),
        (["-p80:80"], "bind and port"),
        (["-P"], "bind and port"),
        (["-e", "A=b"], "env"),
        (["--env-file", "/x"], "docker inspect"),
        (["--entrypoint="], "the collection sets it"),
        (["--network", "host"], "network"),
        (["--net=host"], "network"),
        (["-u", "0"], "user"),
        (["-u0"], "user"),
        (["--user=0"], "user"),
        (["--ulimit", "nofile=1"], "ulimits"),
        (["--log-driver=none"], "the collection sets it"),
        (["--init"], "the collection sets it"),
        (["--pull=always"], "the collection sets it"),
        (["--label", "io.gpuhosts.vllm.service=x"], "by these the collection finds"),
        (["-l=io.gpuhosts.x=1"], "by these the collection finds"),
        (["--tmpfs", "/gpuhosts/hf:size=1g"], "outside /gpuhosts"),
        (["--privileged", "image:tag"], "Docker would take this word for the image"),
        (["sh"], "Docker would take this word for the image"),
        (["--"], "Docker would take this word for the image"),
        ([""], "Docker would take this word for the image"),
        (["--memory"], "a value after this option"),
        (["-m"], "a value after this option"),
        (["--memroy", "8g"], "did you mean --memory?"),
        (["-Z"], "by its long name"),
    ],
)
def test_a_word_that_is_not_for_this_door_is_told_where_it_belongs(problems, words, place):
    found = problems(docker_args=words)
    assert all(problem.key.startswith("docker_args[") for problem in found)
    assert any(place in problem.allowed for problem in found)


@pytest.mark.parametrize(
    "words",
    [
        ["--cap-add", "SYS_NICE", "--cap-add=IPC_LOCK"],
        ["--memory=8g", "-m", "8g", "-c512"],
        ["--security-opt", "label=disable", "--read-only"],
        ["-l", "team=ml", "--label=a=b"],
        ["--tmpfs", "/tmp:size=1g", "--add-host", "hub:10.0.0.1"],
        ["--runtime=nvidia", "--hostname", "-x"],
        ["--option-of-a-newer-docker=1"],
        [],
    ],
)
def test_other_options_pass_unchanged(parsed, words):
    assert parsed(docker_args=words).docker_args == tuple(words)


def test_a_value_is_not_read_as_an_option():
    found = list(docker_options(["--hostname", "--rm", "-h", "-v", "--memory=1g", "-qh", "name"]))
    assert [(option.name, option.value) for option in found] == [
        ("hostname", "--rm"),
        ("hostname", "-v"),
        ("memory", "1g"),
        ("quiet", None),
        ("hostname", "name"),
    ]


def test_the_value_of_a_refused_word_is_not_repeated(problem):
    assert "hush" not in problem(docker_args=["--env=PASSWORD=hush"]).line()
