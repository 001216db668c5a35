# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Models: which files, how much room, what a hub's refusal means."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.answers import Asked, status_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.container import (
    Fetch,
    Place,
    fetch_name,
    fetch_script,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.folder import path_fault, require_path
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.hub import list_files
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.snapshot import (
    HubFile,
    Manifest,
    manifest_from_dict,
    missing_bytes,
    needed_files,
    parse_listing,
    safe_path,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.models.work import fetch_progress, fetch_request, fetched
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.resolve import Answer

COMMIT = "5eed" * 10
ASKED = Asked("chat: model a/b", "https://hub.example", "a/b", COMMIT, has_token=False)
LIST = {
    "sha": COMMIT,
    "gated": False,
    "siblings": [
        {"rfilename": "config.json", "size": 10, "blobId": "1" * 40},
        {"rfilename": "model.safetensors", "size": 134, "blobId": "2" * 40, "lfs": {"sha256": "3" * 64, "size": 5000}},
    ],
}
FILES = (HubFile("config.json", 10, "1" * 40), HubFile("model.safetensors", 5000, "3" * 64))


def hub(answers):
    """A hub that is a table from the end of a URL to an answer."""

    def get(url, headers):
        hub.asked.append((url, headers.get("Authorization")))
        return next((answer for end, answer in answers.items() if url.endswith(end)), Answer(404, {}, b""))

    hub.asked = []
    return get


def ok(data):
    return Answer(200, {}, json.dumps(data).encode())


def test_a_listing_has_the_size_and_hash_of_large_files_from_their_pointer():
    listing = list_files(ASKED, None, hub({f"/api/models/a/b/revision/{COMMIT}?blobs=true": ok(LIST)}))
    assert (listing.commit, listing.files) == (COMMIT, FILES)


@pytest.mark.parametrize(
    ("answer", "kind", "word"),
    [
        (Answer(0, {}, b"", "Name or service not known"), "hub_unreachable", "Name or service not known"),
        (Answer(401, {}, b""), "hub_auth", "wants a token"),
        (Answer(403, {}, b""), "hub_auth", "wants a token"),
        (Answer(404, {"x-error-message": "Invalid rev id"}, b""), "hub_not_found", "Invalid rev id"),
        (Answer(429, {}, b""), "hub_limit", "too many requests"),
        (Answer(502, {}, b""), "hub_answer", "HTTP 502"),
        (Answer(200, {}, b"<html>"), "hub_answer", "not JSON"),
        (ok({"sha": "main"}), "hub_answer", "names no commit"),
    ],
)
def test_refusals_of_a_hub(answer, kind, word):
    with pytest.raises(Refusal) as stop:
        list_files(ASKED, None, hub({"?blobs=true": answer}))
    finding = stop.value.finding
    assert (finding.id, finding.subject) == (kind, "chat: model a/b")
    assert word in finding.message
    assert finding.remedy


def test_a_gated_repository_is_tried_with_a_file_before_anything_is_fetched():
    answers = {"?blobs=true": ok({**LIST, "gated": "manual"}), "/config.json": Answer(403, {}, b"")}
    asked = Asked(ASKED.subject, ASKED.endpoint, "a/b", COMMIT, has_token=True)
    with pytest.raises(Refusal) as stop:
        list_files(asked, "hf_secret", hub(answers))
    assert "refuses this token" in stop.value.finding.message
    assert "hf_secret" not in str(stop.value)
    assert hub.asked[-1] == (f"https://hub.example/a/b/resolve/{COMMIT}/config.json", "Bearer hf_secret")


def test_a_hub_that_names_a_file_outside_is_refused():
    bad = {**LIST, "siblings": [{"rfilename": "../../etc/passwd", "size": 1}]}
    with pytest.raises(Refusal, match="do not use this hub"):
        list_files(ASKED, None, hub({"?blobs=true": ok(bad)}))
    assert safe_path("a/b.json")
    assert not any(safe_path(path) for path in ("", "/etc/passwd", "a/../../b"))


def test_copies_for_other_programs_stay_where_they_are():
    names = ["config.json", "model.safetensors", "pytorch_model.bin", "original/consolidated.00.pth", "onnx/model.onnx"]
    files = tuple(HubFile(name, 1, None) for name in [*names, "tf_model.h5", "1_Pooling/config.json"])
    assert [each.path for each in needed_files(files)] == ["config.json", "model.safetensors", "1_Pooling/config.json"]
    old = tuple(HubFile(name, 1, None) for name in ("config.json", "pytorch_model.bin"))
    assert needed_files(old) == old


def test_only_what_is_not_here_takes_room():
    assert missing_bytes(FILES, {}) == 5010
    assert missing_bytes(FILES, {"3" * 64: 5000}) == 10
    assert missing_bytes(FILES, {"3" * 64: 4999}) == 5010
    assert missing_bytes([HubFile("x", None, None)], {}) is None


def test_a_manifest_survives_being_written():
    manifest = Manifest("a/b", COMMIT, COMMIT, FILES)
    assert manifest_from_dict(json.loads(json.dumps(manifest.to_dict()))) == manifest
    assert manifest_from_dict({"files": [{"name": "x"}]}) is None
    assert manifest_from_dict({}) is None


def test_a_listing_needs_a_commit():
    with pytest.raises(ValueError, match="commit"):
        parse_listing({"sha": None})


@pytest.mark.parametrize(
    ("name", "exists", "readable", "files", "word"),
    [
        ("/m", True, True, ["config.json"], None),
        ("/m", True, True, ["params.json"], None),
        ("/m", True, True, ["q4.gguf"], None),
        ("/m/q4.gguf", True, True, None, None),
        ("/m", False, False, None, "does not exist"),
        ("/m", True, False, ["config.json"], "not readable"),
        ("/m/readme", True, True, None, "not a .gguf"),
        ("/m", True, True, ["readme"], "it has: readme"),
        ("/m", True, True, [], "it has: nothing"),
    ],
)
def test_what_makes_a_path_a_model(name, exists, readable, files, word):
    fault = path_fault(name, exists, readable, files)
    assert (fault is None) if word is None else word in (fault or "")


def test_a_path_that_is_no_model_stops_with_its_service():
    require_path("chat", "/m", None)
    with pytest.raises(Refusal, match="chat: model /m: this path does not exist"):
        require_path("chat", "/m", "this path does not exist on the host")


def test_the_container_gets_no_secret_and_no_engine():
    place = Place("/run/job", "/var/cache/gpuhosts-vllm/hf")
    script = fetch_script(Fetch("model-1", "sha256:abc", "https://hub.example", place, {"HTTPS_PROXY": "http://p:1"}))
    last = script.splitlines()[-1]
    assert last.endswith("--entrypoint python3 sha256:abc /gpuhosts/in/fetch.py")
    assert "source=/run/job/secret,target=/gpuhosts/secret,readonly" in last
    assert "--env HF_ENDPOINT=https://hub.example" in last
    assert "HF_TOKEN" not in script
    assert "docker rm --force gpuhosts-vllm-model-1" in script


def test_the_same_snapshot_has_one_job():
    assert fetch_name("a/b", COMMIT) == fetch_name("a/b", COMMIT)
    assert fetch_name("a/b", COMMIT) != fetch_name("a/b", "main")


def test_progress_in_bytes():
    request = fetch_request(ASKED, FILES, COMMIT)
    assert fetch_progress(request, {}, {}) == "0 B of 5.01 kB fetched"
    assert fetch_progress(request, {"3" * 64 + ".incomplete": 2000, "other": 9}, {}) == "2.00 kB of 5.01 kB fetched"
    assert fetch_progress(request, {}, {"file": "x", "bytes": 10}) == "proving 10 B of 5.01 kB"


def test_what_came_back_is_the_manifest():
    files = [{"path": "config.json", "size": 10, "digest": "1" * 40}]
    manifest = fetched(ASKED, {"commit": COMMIT}, {"folder": COMMIT, "files": files}, "")
    assert manifest == Manifest("a/b", COMMIT, COMMIT, (HubFile("config.json", 10, "1" * 40),))


@pytest.mark.parametrize(
    ("exception", "status", "said", "kind"),
    [
        ("GatedRepoError", None, "restricted", "hub_auth"),
        ("RepositoryNotFoundError", 401, "Repository Not Found", "hub_auth"),
        ("RevisionNotFoundError", None, "Invalid rev", "hub_not_found"),
        ("LocalEntryNotFoundError", None, "cannot find the requested files", "hub_unreachable"),
        ("HfHubHTTPError", 429, "Too Many Requests", "hub_limit"),
        ("OSError", None, "[Errno 28] No space left on device", "disk_room"),
        ("ImportError", None, "No module named 'huggingface_hub'", "hub_library"),
        ("Damaged", None, "model.safetensors has the hash 1 and should have 2; it was removed", "model_damaged"),
    ],
)
def test_what_went_wrong_in_the_container(exception, status, said, kind):
    error = {"exception": exception, "status": status, "message": said}
    with pytest.raises(Refusal) as stop:
        fetched(ASKED, {}, {"error": error}, "")
    assert stop.value.finding.id == kind
    assert stop.value.finding.remedy


def test_a_container_without_a_result_says_its_last_line():
    with pytest.raises(Refusal, match="docker: Error response from daemon"):
        fetched(ASKED, {}, {}, "one\ndocker: Error response from daemon\n")


def test_a_status_wins_over_the_name():
    assert status_of("GatedRepoError", 401) == 401
    assert status_of("Unheard", None) == 0
