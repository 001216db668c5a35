# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Docker asked through a command line that is a table."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.facts import Published
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import docker
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result

ID = "c" * 64
INFO = {
    "ServerVersion": "26.1.5+dfsg1",
    "DockerRootDir": "/data/docker",
    "CgroupDriver": "systemd",
    "Runtimes": {"runc": {}, "nvidia": {}},
    "CDISpecDirs": ["/etc/cdi"],
    "RegistryConfig": {
        "Mirrors": ["http://m/"],
        "IndexConfigs": {"docker.io": {"Secure": True}, "r:5000": {"Secure": False}},
    },
}
CONTAINER = {
    "Id": ID,
    "Name": "/vllm-chat",
    "Config": {"Labels": {"io.gpuhosts.vllm.service": "chat"}},
    "NetworkSettings": {
        "Ports": {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8000"}], "9/udp": [], "1/tcp": None}
    },
}


def runner(answers):
    """Answer by the first words of a command."""

    def run(argv, **options):
        words = " ".join(argv)
        for start, (status, out, err) in answers.items():
            if words.startswith(start):
                return Result(tuple(argv), status, out, err)
        return Result(tuple(argv), 127, "", "not found")

    return run


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    monkeypatch.setattr(docker.shutil, "which", lambda name, path=None: f"/usr/bin/{name}")


def test_docker_that_answers():
    answers = {
        "docker info": (0, json.dumps(INFO), ""),
        "docker ps": (0, ID + "\n", ""),
        "docker container inspect": (0, json.dumps([CONTAINER]), ""),
    }
    engine = docker.engine_info(runner=runner(answers))
    assert (engine.reachable, engine.version, engine.root) == (True, "26.1.5+dfsg1", "/data/docker")
    assert (engine.mirrors, engine.insecure, engine.runtimes) == (("http://m/",), ("r:5000",), ("nvidia", "runc"))
    assert engine.cdi_enabled
    assert engine.containers == {ID: "chat"}
    assert engine.published == (Published("127.0.0.1", 8000, "vllm-chat", "chat"),)


@pytest.mark.parametrize(
    ("status", "out", "err", "said"),
    [
        (0, json.dumps({"ServerErrors": ["Cannot connect to the Docker daemon"]}), "", "Cannot connect"),
        (1, "", "permission denied while trying to connect", "permission denied"),
        (124, "", "docker did not end within 30 s", "did not end"),
        (1, "garbage", "", "exit status 1"),
    ],
)
def test_docker_that_does_not_answer_says_why(status, out, err, said):
    version = (0, "Docker version 26.1.5+dfsg1, build a72d7cd\n", "")
    engine = docker.engine_info(runner=runner({"docker info": (status, out, err), "dockerd --version": version}))
    assert (engine.installed, engine.reachable, engine.version) == (True, False, "26.1.5+dfsg1")
    assert said in (engine.error or "")


def test_no_docker(monkeypatch):
    monkeypatch.setattr(docker.shutil, "which", lambda name, path=None: None)
    engine = docker.engine_info(runner=runner({}))
    assert (engine.installed, engine.reachable) == (False, False)


def test_images_are_found_by_docker_or_on_its_disk(tmp_path):
    here, gone = "a/b@sha256:1", "a/b@sha256:2"
    folder = tmp_path / "image/overlay2"
    folder.mkdir(parents=True)
    (folder / "repositories.json").write_text(json.dumps({"Repositories": {"a/b": {here: "sha256:id"}}}))
    down = docker.Engine(installed=True, reachable=False, root=str(tmp_path))
    assert docker.images_present([here, gone, here], down) == (here,)
    assert docker.image_on_disk(here, str(tmp_path)) == "sha256:id"
    assert docker.image_on_disk(here, str(tmp_path / "nowhere")) is None
    answers = {f"docker image inspect {here}": (0, json.dumps([{"Id": "sha256:id"}]), "")}
    up = docker.Engine(installed=True, reachable=True)
    assert docker.images_present([here, gone], up, runner=runner(answers)) == (here,)
