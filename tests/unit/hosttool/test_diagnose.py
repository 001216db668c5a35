# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""`vllm-host diagnose` on folders that stand for hosts: well, ill, empty, and full of rubbish."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.hosttool.cli import main
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import starts
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.evidence import reader
from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.paths import Paths

SECRET = "planted-token"
LOG = """INFO 01-31 11:00:00 [api_server.py:1] vLLM API server version 0.32.0
INFO 01-31 11:00:01 [core.py:2] hub said planted-token and https://me:pass-word@hub.example/x
ValueError: To serve at least one request with the models's max seq len (4096), (4.00 GiB KV cache is needed, \
which is larger than the available KV cache memory (1.00 GiB). Based on the available memory, the estimated maximum \
model length is 1024. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when starting the engine.
"""
# Everything but the container of the conftest's Docker: what it says of itself, of images, and of containers.
DOCKER = """#!/bin/sh
cd {folder}
echo "$*" >> asked
case "$1 $2" in
  "info --format") echo '{{"ServerVersion": "29.1.0", "DockerRootDir": "/var/lib/docker", "Runtimes": {{}}}}' ;;
  "ps --all")
    case "$*" in
      *service=chat*--format*) echo "$(cat listed) vllm-chat exited" ;;
      *service=chat*) cat listed ;;
    esac ;;
  "ps --quiet") ;;
  "container inspect") cat inspected ;;
  "image inspect") cat image ;;
  *) exit 9 ;;
esac
"""
INSPECTED = [
    {
        "Id": "c" * 64,
        "Image": "sha256:" + "ab" * 32,
        "State": {"Status": "exited", "Running": False},
        "Config": {"Env": ["MINE_PASSWORD=another-planted-one", "NCCL_DEBUG=INFO", "PLAIN=not-for-everyone"]},
        "Args": ["/srv/m", "--api-key", "third-planted-one"],
    }
]


@pytest.fixture
def host(paths: Paths, docker: Any, monkeypatch: pytest.MonkeyPatch) -> Paths:
    """A host whose Docker answers, with one start that failed, and a secret."""
    (docker.folder.parent / "bin" / "docker").write_text(DOCKER.format(folder=docker.folder))
    (docker.folder / "inspected").write_text(json.dumps(INSPECTED))
    (docker.folder / "listed").write_text("c" * 64 + "\n")
    (docker.folder / "image").write_text(json.dumps([{"Id": "sha256:" + "ab" * 32, "Config": {"Labels": {"a": "b"}}}]))
    monkeypatch.setenv("VLLM_HOST_ROOT", paths.root)
    paths.secrets.parent.mkdir(parents=True)
    paths.secrets.write_text(f"HF_TOKEN='{SECRET}'\n")
    seq = starts.begin(paths, {"begun_at": "2026-01-31T11:00:00Z", "fault": True, "ending": "engine_ended"})
    starts.update(paths, seq, {"ended_at": "2026-01-31T11:00:09Z", "ending_reason": "it ended", "exit_code": 1})
    (paths.start(seq) / "log").write_text(LOG)
    return paths


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Run the verb; its exit status and what it said."""
    code = main(["diagnose", "chat", *words])
    return code, capsys.readouterr().out


def report(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Give the report as data."""
    return dict(json.loads(told(capsys, "--json")[1]))


def unread(data: dict[str, Any]) -> dict[str, str]:
    """Give what could not be read, and why."""
    return {each["source"]: each["why"] for section in data["sections"] for each in section["unread"]}


def unpacked(path: Path) -> dict[str, bytes]:
    """Give the files of a bundle, after a look at how safe it is to unpack."""
    with tarfile.open(path) as archive:
        entries = archive.getmembers()
        assert all(entry.isreg() and entry.name.startswith("vllm-diagnose-chat/") for entry in entries)
        assert not [entry.name for entry in entries if ".." in entry.name or entry.name.startswith("/")]
        assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
        files = {entry.name.partition("/")[2]: archive.extractfile(entry) for entry in entries}
        return {name: stream.read() for name, stream in files.items() if stream is not None}


def tree(root: str) -> dict[str, str]:
    """Give every path below a folder with its time and content."""
    found = {}
    for path in sorted(Path(root).rglob("*")):
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path)] = f"{path.lstat().st_mtime_ns} {oct(path.lstat().st_mode)} {content}"
    return found


def test_the_start_that_failed_comes_first_of_all(host: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys)
    lines = text.splitlines()
    assert code == 1
    assert lines[2] == "    What the start says"
    assert "ERROR kv_cache_too_small [chat]" in lines[3]
    assert SECRET not in text and "pass-word" not in text


def test_nothing_on_the_host_changes(host: Paths, docker: Any, tmp_path: Path) -> None:
    before = tree(host.root)
    assert main(["diagnose", "chat", "--bundle", str(tmp_path / "x.tar.gz")]) == 1
    assert tree(host.root) == before
    words = {line.split()[0] for line in docker.asked("")}
    assert words <= {"info", "ps", "container", "image", "systemctl"}
    assert {line.split()[1] for line in docker.asked("systemctl")} <= {"show", "list-jobs", "is-active"}


def test_the_bundle_has_the_evidence_and_no_secret(host: Paths, tmp_path: Path) -> None:
    main(["diagnose", "chat", "--bundle", str(tmp_path / "x.tar.gz")])
    assert (tmp_path / "x.tar.gz").stat().st_mode & 0o777 == 0o600
    files = unpacked(tmp_path / "x.tar.gz")
    assert {"report.json", "report.txt", "manifest.json", "starts/1/log", "starts/1/state.json"} < set(files)
    assert {"docker/container.json", "docker/image.json", "release/run", "release/release.json"} < set(files)
    whole = b"\n".join(files.values())
    for value in (SECRET, "pass-word", "another-planted-one", "third-planted-one", "not-for-everyone"):
        assert value.encode() not in whole, value
    assert b"[secret HF_TOKEN]" in files["starts/1/log"]
    inspected = json.loads(files["docker/container.json"])
    assert inspected["Config"]["Env"] == ["MINE_PASSWORD=***", "NCCL_DEBUG=INFO", "PLAIN=[not-shown]"]


def test_the_bundle_goes_to_standard_output_as_well(host: Paths, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    main(["diagnose", "chat", "--bundle", "-"])
    out, err = capsysbinary.readouterr()
    with tarfile.open(fileobj=io.BytesIO(out)) as archive:
        assert "vllm-diagnose-chat/report.json" in archive.getnames()
    assert b"What the start says" in err


def test_a_bundle_that_cannot_be_written_is_told(host: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "chat", "--bundle", "/nowhere/x.tar.gz"]) == 1
    assert "/nowhere/x.tar.gz cannot be written: No such file or directory" in capsys.readouterr().err


def test_a_log_of_any_size_is_in_it_with_its_ends(host: Paths, tmp_path: Path) -> None:
    path = host.start(1) / "log"
    line = b"INFO 01-31 11:00:00 [x.py:1] noise noise noise noise noise noise noise noise noise noise noise\n"
    with path.open("wb") as stream:
        stream.write(b"the very first line\n" + line * 50_000)
        stream.truncate(4 << 30)
        stream.seek(0, os.SEEK_END)
        stream.write(line * 20_000 + b"the very last line\n")
    began = time.monotonic()
    main(["diagnose", "chat", "--bundle", str(tmp_path / "x.tar.gz")])
    assert time.monotonic() - began < 30
    files = unpacked(tmp_path / "x.tar.gz")
    log = files["starts/1/log"]
    assert log.startswith(b"the very first line\n") and log.endswith(b"the very last line\n")
    assert b"bytes left out ...]" in log and len(log) <= 3 << 20
    listed = {part["name"]: part["left_out"] for part in json.loads(files["manifest.json"])["parts"]}
    assert listed["starts/1/log"] > (4 << 30) - (3 << 20) and listed["report.json"] == 0


def test_a_compressed_log_is_read(host: Paths, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = host.start(1) / "log"
    path.with_name("log.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert report(capsys)["findings"][0]["id"] == "kv_cache_too_small"


def test_a_service_that_is_not_there_is_a_report(host: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "other", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert [finding["id"] for finding in data["findings"]] == ["never_started"]


def test_a_host_without_docker_is_a_report(
    host: Paths, docker: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (docker.folder.parent / "bin" / "docker").unlink()
    monkeypatch.setenv("PATH", str(docker.folder.parent / "bin"))
    data = report(capsys)
    assert data["findings"][0]["id"] == "kv_cache_too_small"
    assert unread(data)["docker"] == "Docker is not installed"
    assert "addresses" in unread(data)  # no ip there either


def test_a_docker_that_says_rubbish_is_a_line(host: Paths, docker: Any, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("inspected", "image"):
        (docker.folder / name).write_bytes(b"\xff\xfe{[")
    data = report(capsys)
    assert data["findings"][0]["id"] == "kv_cache_too_small"
    assert {"container", "image"} <= set(unread(data))


def test_every_source_may_fail_and_the_others_are_read(
    host: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "run", lambda *_words, **_more: 1 / 0)
    data = report(capsys)
    assert data["findings"][0]["id"] == "kv_cache_too_small"
    assert unread(data)["state"] == "division by zero" and len(unread(data)) > 4


def test_what_comes_after_the_time_is_over_is_a_line(
    host: Paths, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LONGEST", -1.0)
    assert "were used up" in unread(report(capsys))["state"]


RUBBISH = [
    b"",
    b"\0" * 100,
    b"\xff\xfe\x80" * 1000,
    b"[" * 100_000,
    b'{"a": ' * 5000,
    b"[1, 2]",
    b"null",
    b"\r\n" * 999,
]


@pytest.mark.parametrize("rubbish", RUBBISH, ids=[str(number) for number in range(len(RUBBISH))])
def test_rubbish_in_every_file_is_a_report(rubbish: bytes, host: Paths, tmp_path: Path) -> None:
    release = host.current.resolve()
    start = host.start(1)
    for path in (
        *(release / name for name in ("release.json", "gate.json", "run", "args", "entry")),
        *(start / name for name in ("state.json", "startup.json", "log")),
        *(host.journal, host.secrets, host.earlier_secrets, host.stopped),
    ):
        path.write_bytes(rubbish)
    assert main(["diagnose", "chat", "--bundle", str(tmp_path / "x.tar.gz")]) in (0, 1)
    assert "report.json" in unpacked(tmp_path / "x.tar.gz")


def test_a_secrets_file_that_somebody_broke_still_hides_its_values(
    host: Paths, docker: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    host.secrets.write_text(f"HF_TOKEN='{SECRET}\n")
    host.earlier_secrets.write_text("not a pair\nthe-one-before-it\n")
    with (host.start(1) / "log").open("a") as log:
        log.write("INFO x the-one-before-it\n")
    assert main(["diagnose", "chat", "--bundle", str(tmp_path / "x.tar.gz")]) == 1
    assert "not read: secrets: the secrets file has an open quote" in capsys.readouterr().out
    whole = b"".join(unpacked(tmp_path / "x.tar.gz").values())
    assert SECRET.encode() not in whole and b"the-one-before-it" not in whole


def test_docker_that_says_other_things_than_expected_is_a_report(
    host: Paths, docker: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    for odd in ([{"Id": 7, "Config": ["x"], "State": None, "Args": None, "Image": 5}], [{}], [[]], {"a": 1}, [None]):
        (docker.folder / "inspected").write_text(json.dumps(odd))
        (docker.folder / "image").write_text(json.dumps(odd))
        assert report(capsys)["findings"][0]["id"] == "kv_cache_too_small", odd


def test_links_and_folders_in_place_of_files_are_lines(
    host: Paths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("not-of-this-service\n")
    log, state, run = host.start(1) / "log", host.start(1) / "startup.json", host.current.resolve() / "run"
    for path in (log, run):
        path.unlink()
    log.symlink_to(outside)
    state.symlink_to(outside)
    run.mkdir()
    data = report(capsys)
    assert {"log of start 1", "startup.json of start 1", "release file run"} <= set(unread(data))
    main(["diagnose", "chat", "--bundle", str(tmp_path / "x.tar.gz")])
    assert b"not-of-this-service" not in b"".join(unpacked(tmp_path / "x.tar.gz").values())
