# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A folder that stands for a host with one staged release, and a docker that is a shell script."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool import before_start
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import releases
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.files import make_folder, switch_link
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.files import gate_text, immutable_files
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import (
    HostFacts,
    ReleaseRecord,
    make_record,
)

CONTENT: dict[str, Any] = {
    "schema": 1,
    "image": "vllm/vllm-openai",
    "tag": "v0.32.0",
    "index_digest": "sha256:" + "cd" * 32,
    "version": "0.32.0",
    "args": ["/srv/m", "--port", "8000"],
    "env": {},
    "mounts": [],
    "gpus": "none",
    "shm_size": "1g",
    "network": "bridge",
    "bind": "127.0.0.1",
    "port": 8000,
    "user": None,
    "ulimits": {},
    "devices": [],
    "docker_args": [],
    "model": {"kind": "path", "name": "/srv/m", "revision": None},
    "after": [],
}
GATE = {"url": "http://127.0.0.1:9", "served_names": ["chat"], "silence_seconds": 30, "stop_grace_seconds": 7}

# What systemd has to do is in `jobs`, as list-jobs prints it; what it was asked is in `asked`.
SYSTEMCTL = """#!/bin/sh
cd {folder}
echo "systemctl $*" >> asked
case "$1" in
  list-jobs) cat jobs 2>/dev/null; exit 0 ;;
  show) echo "InvocationID=$(cat docker-life 2>/dev/null || echo first)" ;;
esac
"""
# Containers are files `<id>.json` (what inspect says) and `<id>.log`; what it was asked is in `asked`.
DOCKER = """#!/bin/sh
cd {folder}
echo "$*" >> asked
if [ -e down ]; then echo "Cannot connect to the Docker daemon" >&2; exit 1; fi
last=$(for word in "$@"; do :; done; echo "$word")
case "$1 $2" in
  "ps --all") grep -l '"io.gpuhosts.vllm.service": "chat"' -- *.json 2>/dev/null | sed 's/.json$//' ;;
  "container inspect")
    if [ -e "$last.json" ]; then cat "$last.json"; else echo "Error: No such container: $last" >&2; exit 1; fi ;;
  "logs --follow")
    tail -n +1 -f "$last.log" & tail=$!
    while grep -q running "$last.json" 2>/dev/null; do sleep 0.05; done
    sleep 0.1; kill $tail ;;
  "logs "*) cat "$last.log"; if [ -e logs-fail ]; then echo "error from daemon: EOF" >&2; exit 1; fi ;;
  "stop "*) sed -i 's/"running"/"exited"/' "$last.json" ;;
  "rm "*) rm -f "$last.json" ;;
  "events "*) cat events 2>/dev/null; exit 0 ;;
esac
"""


class Docker:
    """What the script stands for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self, name: str, log: str = "", **state: Any) -> None:
        """Let there be a container of the service."""
        data = {
            "Id": name,
            "Name": "/vllm-chat",
            "Image": "sha256:1",
            "State": {"Status": "running", "ExitCode": 0, "OOMKilled": False, "Error": "", **state},
            "Config": {"Labels": {"io.gpuhosts.vllm.service": "chat"}},
        }
        (self.folder / f"{name}.log").write_text(log)
        (self.folder / f"{name}.json").write_text(json.dumps([data]))

    def ends(self, name: str, code: int) -> None:
        """Let a container end by itself."""
        path = self.folder / f"{name}.json"
        data = json.loads(path.read_text())
        data[0]["State"].update(Status="exited", ExitCode=code)
        path.write_text(json.dumps(data))

    def says(self, name: str, text: str) -> None:
        """Let a container print something."""
        with (self.folder / f"{name}.log").open("a") as log:
            log.write(text)

    @property
    def left(self) -> list[str]:
        """The containers that are there."""
        return sorted(path.stem for path in self.folder.glob("*.json"))

    def asked(self, word: str) -> list[str]:
        """What Docker was asked that begins with a word."""
        path = self.folder / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.startswith(word)]


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    folder = tmp_path / "docker"
    folder.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("docker", DOCKER), ("systemctl", SYSTEMCTL)):
        (programs / name).write_text(text.format(folder=folder))
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(before_start, "listeners", tuple)  # not those of this machine
    return Docker(folder)


@pytest.fixture
def record() -> ReleaseRecord:
    facts = HostFacts("sha256:" + "ab" * 32, uid=os.getuid(), gid=os.getgid())
    return make_record("chat", CONTENT, facts)


@pytest.fixture
def paths(tmp_path: Path, record: ReleaseRecord) -> Paths:
    """A host where the release is staged and current."""
    made = Paths("chat", str(tmp_path / "host"))
    releases.write_new(made, record.id, {**immutable_files(record), "gate.json": gate_text(GATE, {})})
    switch_link(made.current, f"releases/{record.id}")
    make_folder(made.volatile)
    return made


@pytest.fixture
def secrets(paths: Paths) -> str:
    """A planted secret; its value."""
    make_folder(paths.secrets.parent)
    paths.secrets.write_text("HF_TOKEN='planted-token'\n")
    return "planted-token"
