# SPDX-License-Identifier: Apache-2.0
"""The stand-in of the model hub answers as the real one does, as far as a snapshot is fetched."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
import urllib.error
import urllib.request
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.lab import build, names

if TYPE_CHECKING:
    from collections.abc import Iterator

_SPEC = importlib.util.spec_from_file_location("lab_hub", build.FOLDER / "hub" / "server.py")
assert _SPEC is not None
assert _SPEC.loader is not None
hub: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(hub)


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    monkeypatch.setattr(hub, "MODELS", tmp_path)
    monkeypatch.setattr(hub, "TOKEN", "token")
    monkeypatch.setattr(hub.Handler, "log_message", lambda *_args: None)
    server = ThreadingHTTPServer(("127.0.0.1", 0), hub.Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def ask(url: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        with opener.open(request, timeout=5) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def test_the_revision_is_the_one_that_the_lab_names(url: str) -> None:
    assert hub.REVISION == names.MODEL_REVISION
    assert len(hub.REVISION) == 40
    status, _headers, body = ask(f"{url}/api/models/{names.TINY_MODEL}/revision/{hub.REVISION}")
    assert status == 200
    assert json.loads(body)["sha"] == hub.REVISION
    assert [one["rfilename"] for one in json.loads(body)["siblings"]] == ["config.json", "model.safetensors"]


def test_weights_are_known_by_sha256_and_small_files_by_gits_name(url: str) -> None:
    _status, headers, body = ask(f"{url}/{names.TINY_MODEL}/resolve/{hub.REVISION}/model.safetensors")
    assert body == b"weights"
    assert headers["ETag"].strip('"') == hashlib.sha256(b"weights").hexdigest()
    assert headers["X-Linked-Size"] == "7"
    assert headers["X-Repo-Commit"] == hub.REVISION
    _status, headers, _body = ask(f"{url}/{names.TINY_MODEL}/resolve/{hub.REVISION}/config.json")
    assert (
        headers["ETag"].strip('"') == "9e26dfeeb6e641a33dae4961196235bdb965b21b"
    )  # echo -n {} | git hash-object --stdin


def test_the_tree_lists_sizes_and_lfs(url: str) -> None:
    _status, _headers, body = ask(f"{url}/api/models/{names.TINY_MODEL}/tree/{hub.REVISION}?recursive=true")
    listed = {entry["path"]: entry for entry in json.loads(body)}
    assert listed["model.safetensors"]["lfs"]["size"] == 7
    assert "lfs" not in listed["config.json"]


def test_a_part_of_a_file_can_be_had(url: str) -> None:
    status, headers, body = ask(f"{url}/{names.TINY_MODEL}/resolve/main/model.safetensors", Range="bytes=3-")
    assert (status, body) == (206, b"ghts")
    assert headers["Content-Range"] == "bytes 3-6/7"


@pytest.mark.parametrize(
    ("path", "token", "status", "code"),
    [
        ("/api/models/lab/gated-llama/revision/main", None, 401, "GatedRepo"),
        ("/api/models/lab/gated-llama/revision/main", "Bearer wrong", 403, "GatedRepo"),
        ("/api/models/lab/gated-llama/revision/main", "Bearer token", 200, None),
        ("/api/models/lab/nothing/revision/main", "Bearer token", 404, "RepoNotFound"),
        ("/api/models/lab/tiny-llama/revision/" + "0" * 40, None, 404, "RevisionNotFound"),
        ("/lab/tiny-llama/resolve/main/nothing.bin", None, 404, "EntryNotFound"),
        ("/else", None, 404, "EntryNotFound"),
    ],
)
def test_refusals_carry_the_hubs_words(url: str, path: str, token: str | None, status: int, code: str | None) -> None:
    answered, headers, _body = ask(url + path, **({"Authorization": token} if token else {}))
    assert (answered, headers.get("X-Error-Code")) == (status, code)
