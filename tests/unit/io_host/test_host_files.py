# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is read of a host and written to it, in folders of its own."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import daemon, models, system
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.commands import Result
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.ports import listeners
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.snapshot import HubFile, Manifest

COMMIT = "5eed" * 10


@pytest.fixture
def snapshot(tmp_path):
    """A proven snapshot of one file."""
    folder = tmp_path / "hf/hub/models--a--b"
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "blobs").mkdir()
    (folder / "blobs" / ("1" * 40)).write_text("0123456789")
    (folder / "snapshots" / COMMIT / "config.json").symlink_to("../../blobs/" + "1" * 40)
    manifest = Manifest("a/b", COMMIT, COMMIT, (HubFile("config.json", 10, "1" * 40),))
    models.keep(str(tmp_path), manifest)
    return tmp_path, folder, manifest


def test_a_proven_snapshot_is_known(snapshot):
    path, _folder, manifest = snapshot
    assert models.proven(str(path), "a/b", COMMIT) == manifest
    assert models.proven(str(path), "a/b", "main") is None
    assert models.cached_blobs(str(path), "a/b") == {"1" * 40: 10}


@pytest.mark.parametrize("harm", ["removed", "shorter", "another"])
def test_a_snapshot_that_lost_something_is_not(snapshot, harm):
    path, folder, _manifest = snapshot
    blob = folder / "blobs" / ("1" * 40)
    if harm == "removed":
        blob.unlink()
    elif harm == "shorter":
        blob.write_text("0")
    else:
        link = folder / "snapshots" / COMMIT / "config.json"
        link.unlink()
        link.write_text("0123456789")
    assert models.proven(str(path), "a/b", COMMIT) is None


def test_a_torn_manifest_means_prove_again(snapshot):
    path, _folder, _manifest = snapshot
    models.manifest_path(str(path), "a/b", COMMIT).write_text("{")
    assert models.proven(str(path), "a/b", COMMIT) is None


def test_model_paths(tmp_path):
    assert "does not exist" in (models.look_at_path(str(tmp_path / "no")) or "")
    assert "no model" in (models.look_at_path(str(tmp_path)) or "")
    (tmp_path / "config.json").write_text("{}")
    assert models.look_at_path(str(tmp_path)) is None


def test_this_process_is_found_as_the_holder_of_its_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        mine = [each for each in listeners() if each.port == port]
    assert [(each.address, each.pid) for each in mine] == [("127.0.0.1", os.getpid())]
    assert mine[0].process


def test_a_disk_of_a_folder_that_will_be_made(tmp_path):
    disk = system.disk_of(str(tmp_path / "a/b/c"))
    assert disk.path == str(tmp_path / "a/b/c")
    assert disk.device == tmp_path.stat().st_dev
    assert 0 < disk.free_bytes <= disk.total_bytes


def test_bytes_of_a_folder(tmp_path):
    for name, size in (("GetImageBlob1", 5), ("GetImageBlob2", 6), ("other", 7)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert system.tree_bytes(tmp_path, "GetImageBlob*") == 11
    assert system.tree_bytes(tmp_path / "no") == 0


def test_the_former_configuration_is_kept_beside_the_new_one(tmp_path):
    path = str(tmp_path / "docker/daemon.json")
    assert daemon.write_configuration(path, "{}\n", "T1") is None
    backup = daemon.write_configuration(path, '{"a": 1}\n', "T2")
    assert backup == f"{path}.T2.bak"
    assert (Path(backup).read_text(), Path(path).read_text()) == ("{}\n", '{"a": 1}\n')


SHOWN = """ExecStart={ path=/usr/sbin/dockerd ; argv[]=/usr/sbin/dockerd -H fd:// --log-driver=x ; ignore_errors=no }
ActiveState=active
InvocationID=abc
"""


def test_dockers_unit():
    unit = daemon.unit(runner=lambda argv, **options: Result(tuple(argv), 0, SHOWN, ""))
    assert unit.command == ("/usr/sbin/dockerd", "-H", "fd://", "--log-driver=x")
    assert (unit.active, unit.invocation) == (True, "abc")
    nothing = daemon.unit(runner=lambda argv, **options: Result(tuple(argv), 127, "", ""))
    assert (nothing.command, nothing.active) == ((), False)


def test_what_waits_is_forgotten_when_docker_was_restarted(tmp_path, monkeypatch):
    monkeypatch.setattr(daemon, "PENDING", str(tmp_path / "pending.json"))
    assert daemon.read_pending("abc") == ()
    daemon.write_pending(("log-opts",), "abc")
    assert daemon.read_pending("abc") == ("log-opts",)
    assert daemon.read_pending("def") == ()


def test_docker_judges_a_configuration_where_it_can(monkeypatch):
    monkeypatch.setattr(daemon.shutil, "which", lambda name: "/usr/sbin/dockerd")

    def newer(argv, **options):
        if "--help" in argv:
            return Result(tuple(argv), 0, "  --validate   Validate daemon configuration and exit", "")
        given = json.loads(Path(argv[2].partition("=")[2]).read_text())
        bad = "unable to configure the Docker daemon: unknown key" if "oops" in given else ""
        return Result(tuple(argv), 1 if bad else 0, "", bad)

    assert daemon.validate('{"debug": true}', runner=newer) is None
    assert daemon.validate('{"oops": true}', runner=newer) == "unable to configure the Docker daemon: unknown key"
    assert daemon.validate('{"oops": true}', runner=lambda argv, **options: Result(tuple(argv), 0, "", "")) is None
