# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The program that runs inside the image, with a hub library that is a folder."""

from __future__ import annotations

import hashlib
import json
import sys
import types

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.io import snapshot_program
from ansible_collections.gpuhosts.vllm.plugins.module_utils.io.models import program

BODY = b'{"a": 1}'
SMALL = hashlib.sha1(b"blob %d\0" % len(BODY) + BODY, usedforsecurity=False).hexdigest()
WEIGHTS = b"w" * 5000
LARGE = hashlib.sha256(WEIGHTS).hexdigest()
COMMIT = "5eed" * 10


class GatedRepoError(Exception):
    """As huggingface_hub calls it."""

    response = types.SimpleNamespace(status_code=403)


@pytest.fixture
def room(tmp_path, monkeypatch):
    """The container's folders, and a library that lays a snapshot into the cache."""
    for name in ("in", "out", "secret", "hf/hub"):
        (tmp_path / name).mkdir(parents=True)
    files = {"config.json": SMALL, "model.safetensors": LARGE}
    request = {"repository": "a/b", "revision": COMMIT, "commit": COMMIT, "files": files}
    (tmp_path / "in/request.json").write_text(json.dumps(request))
    library = types.ModuleType("huggingface_hub")
    library.calls = []
    library.bodies = {"config.json": (SMALL, BODY), "model.safetensors": (LARGE, WEIGHTS)}

    def snapshot_download(repository, **options):
        library.calls.append((repository, options))
        folder = tmp_path / "hf/hub/models--a--b"
        snapshot = folder / "snapshots" / COMMIT
        snapshot.mkdir(parents=True)
        (folder / "blobs").mkdir()
        for name, (digest, body) in library.bodies.items():
            (folder / "blobs" / digest).write_bytes(body)
            (snapshot / name).symlink_to(f"../../blobs/{digest}")
        return str(snapshot)

    library.snapshot_download = snapshot_download
    monkeypatch.setitem(sys.modules, "huggingface_hub", library)
    return tmp_path, library


def run(path):
    status = snapshot_program.main(str(path))
    return status, json.loads((path / "out/result.json").read_text())


def test_every_file_is_proven(room):
    path, library = room
    status, result = run(path)
    assert status == 0
    assert result == {
        "folder": COMMIT,
        "files": [
            {"path": "config.json", "size": len(BODY), "digest": SMALL},
            {"path": "model.safetensors", "size": 5000, "digest": LARGE},
        ],
    }
    repository, options = library.calls[0]
    assert (repository, options["revision"], options["token"]) == ("a/b", COMMIT, False)


def test_a_token_comes_from_its_file(room):
    path, library = room
    (path / "secret/token").write_text("hf_x\n")
    run(path)
    assert library.calls[0][1]["token"] == "hf_x"


def test_a_damaged_file_is_found_and_removed(room):
    path, library = room
    library.bodies["model.safetensors"] = (LARGE, b"v" * 5000)
    status, result = run(path)
    assert status == 1
    assert result["error"]["exception"] == "Damaged"
    assert "model.safetensors" in result["error"]["message"]
    assert not (path / "hf/hub/models--a--b/blobs" / LARGE).exists()


def test_a_file_that_is_not_what_the_hub_listed_is_damaged(room):
    path, library = room
    other = b"other"
    library.bodies["model.safetensors"] = (hashlib.sha256(other).hexdigest(), other)
    assert run(path)[1]["error"]["exception"] == "Damaged"


def test_a_file_that_did_not_come(room):
    path, library = room
    del library.bodies["config.json"]
    assert run(path)[1]["error"]["exception"] == "Missing"


def test_an_exception_becomes_a_result(room):
    path, library = room

    def refuse(repository, **options):
        raise GatedRepoError("\nAccess to model a/b is restricted.\nAsk for it.")

    library.snapshot_download = refuse
    status, result = run(path)
    assert status == 1
    assert result["error"] == {
        "exception": "GatedRepoError",
        "status": 403,
        "message": "Access to model a/b is restricted.",
    }


def test_an_image_without_the_library(room, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert run(room[0])[1]["error"]["exception"] == "ImportError"


def test_it_is_sent_as_text_and_needs_nothing_of_the_collection():
    text = program()
    compile(text, "fetch.py", "exec")
    assert "from ." not in text
    assert "ansible" not in text
