# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What a tag means, asked of a registry that is a table of answers."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.host.refusal import Refusal
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.manifest import children_of
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.reference import parse_reference
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.resolve import Answer, judge_resolved, resolve
from ansible_collections.gpuhosts.vllm.plugins.module_utils.registry.settings import registry_settings

INDEX = "application/vnd.oci.image.index.v1+json"
IMAGE = "application/vnd.oci.image.manifest.v1+json"
HUB = "https://registry-1.docker.io/v2/vllm/vllm-openai"
UNREACHABLE = Answer(0, {}, b"", "Connection refused")


def digest_of(body):
    return "sha256:" + hashlib.sha256(body).hexdigest()


def image(*sizes):
    return json.dumps(
        {"mediaType": IMAGE, "config": {"size": 7}, "layers": [{"size": size} for size in sizes]}
    ).encode()


AMD, ARM = image(100, 200), image(300)
LIST = json.dumps(
    {
        "mediaType": INDEX,
        "manifests": [
            {"digest": digest_of(AMD), "platform": {"os": "linux", "architecture": "amd64"}},
            {"digest": digest_of(ARM), "platform": {"os": "linux", "architecture": "arm64", "variant": "v8"}},
            {"digest": "sha256:" + "0" * 64, "platform": {"os": "unknown", "architecture": "unknown"}},
        ],
    }
).encode()


class Registry:
    """Answers by URL; notes what it was asked, and with which authorization."""

    def __init__(self, answers):
        self.answers = answers
        self.asked = []

    def __call__(self, url, headers):
        self.asked.append((url, headers.get("Authorization")))
        answer = self.answers.get(url, Answer(404, {}, b"{}"))
        return answer(headers) if callable(answer) else answer


def manifests(base, tag="v0.32.0"):
    return {
        f"{base}/manifests/{tag}": Answer(200, {"content-type": INDEX}, LIST),
        f"{base}/manifests/{digest_of(LIST)}": Answer(200, {"content-type": INDEX}, LIST),
        f"{base}/manifests/{digest_of(AMD)}": Answer(200, {"content-type": IMAGE}, AMD),
        f"{base}/manifests/{digest_of(ARM)}": Answer(200, {"content-type": IMAGE}, ARM),
    }


def ask(registry, image_name="vllm/vllm-openai:v0.32.0", **settings):
    return resolve(parse_reference(image_name), registry_settings(settings), registry)


def refused(registry, image_name="vllm/vllm-openai:v0.32.0", **settings):
    with pytest.raises(Refusal) as stop:
        ask(registry, image_name, **settings)
    return stop.value.finding


def test_an_index_with_the_size_of_each_platform():
    resolved = ask(Registry(manifests(HUB)))
    assert resolved.index_digest == digest_of(LIST)
    assert resolved.platforms == {
        "linux/amd64": {"digest": digest_of(AMD), "compressed_bytes": 307},
        "linux/arm64": {"digest": digest_of(ARM), "compressed_bytes": 307},
    }
    assert judge_resolved(parse_reference("vllm/vllm-openai:v0.32.0"), resolved) == []


def test_a_single_image_has_no_index_digest_and_says_so():
    config = json.dumps({"os": "linux", "architecture": "amd64"}).encode()
    single = json.dumps(
        {"mediaType": IMAGE, "config": {"digest": "sha256:c", "size": 5}, "layers": [{"size": 6}]}
    ).encode()
    resolved = ask(
        Registry({f"{HUB}/manifests/v1": Answer(200, {}, single), f"{HUB}/blobs/sha256:c": Answer(200, {}, config)}),
        "vllm/vllm-openai:v1",
    )
    assert resolved.index_digest is None
    assert resolved.platforms == {"linux/amd64": {"digest": digest_of(single), "compressed_bytes": 11}}
    findings = judge_resolved(parse_reference("vllm/vllm-openai:v1"), resolved)
    assert [finding.id for finding in findings] == ["image_single_manifest"]


def test_the_mirror_is_asked_first_and_then_nobody_else():
    registry = Registry(manifests("http://mirror.example:5000/v2/vllm/vllm-openai"))
    assert ask(registry, mirror="http://mirror.example:5000/").source == "mirror http://mirror.example:5000/"
    assert all(url.startswith("http://mirror.example:5000/v2/") for url, _token in registry.asked)


def test_behind_a_mirror_that_is_down_comes_the_registry():
    answers = manifests(HUB)
    answers["http://mirror.example/v2/vllm/vllm-openai/manifests/v0.32.0"] = UNREACHABLE
    assert ask(Registry(answers), mirror="http://mirror.example").source == "registry-1.docker.io"


def test_a_mirror_is_for_docker_hub_only():
    registry = Registry(manifests("https://own.example/v2/a/b", "1"))
    assert ask(registry, "own.example/a/b:1", mirror="http://mirror.example").source == "own.example"


def test_a_missing_manifest_says_more_than_a_registry_that_is_down():
    answers = {f"{HUB}/manifests/v0.32.0": UNREACHABLE}
    finding = refused(Registry(answers), mirror="http://mirror.example")
    assert finding.id == "image_not_found"
    assert "mirror http://mirror.example has no v0.32.0" in finding.message
    assert "registry-1.docker.io cannot be reached: Connection refused" in finding.message


def test_a_bearer_token_is_fetched_once_and_used():
    def guarded(answer):
        return lambda headers: answer if headers.get("Authorization") == "Bearer t0k" else challenge

    header = 'Bearer realm="https://auth.example/token",service="r",scope="repository:vllm/vllm-openai:pull"'
    challenge = Answer(401, {"www-authenticate": header}, b"")
    answers = {url: guarded(answer) for url, answer in manifests(HUB).items()}
    token_url = "https://auth.example/token?service=r&scope=repository%3Avllm%2Fvllm-openai%3Apull"
    answers[token_url] = Answer(200, {}, json.dumps({"token": "t0k"}).encode())
    registry = Registry(answers)
    ask(registry, username="me", password="secret")
    asked = [url for url, _token in registry.asked]
    assert asked.count(token_url) == 1
    assert dict(registry.asked)[token_url] == "Basic " + base64.b64encode(b"me:secret").decode()


def test_a_login_is_shown_to_its_own_server_only():
    challenge = Answer(401, {"www-authenticate": 'Basic realm="x"'}, b"")
    registry = Registry({"https://other.example/v2/a/manifests/1": challenge})
    finding = refused(registry, "other.example/a:1", server="own.example", username="me", password="secret")
    assert finding.id == "registry_auth"
    assert "without a login" in finding.message
    assert all(authorization is None for _url, authorization in registry.asked)


def test_a_wrong_login_is_named():
    challenge = Answer(401, {"www-authenticate": 'Basic realm="x"'}, b"")
    registry = Registry({"https://own.example/v2/a/manifests/1": challenge})
    finding = refused(registry, "own.example/a:1", server="own.example", username="me", password="bad")
    assert finding.id == "registry_auth"
    assert "refuses this login" in finding.message
    assert "bad" not in str(finding.to_dict())


def test_a_login_is_not_sent_in_the_clear():
    header = 'Bearer realm="http://auth.example/token"'
    registry = Registry({"https://own.example/v2/a/manifests/1": Answer(401, {"www-authenticate": header}, b"")})
    finding = refused(registry, "own.example/a:1", server="own.example", username="me", password="secret")
    assert "unencrypted" in finding.message
    assert not [url for url, _token in registry.asked if url.startswith("http://auth")]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (UNREACHABLE, "registry_unreachable"),
        (Answer(0, {}, b"", "certificate verify failed"), "registry_ca"),
        (Answer(403, {}, b""), "registry_auth"),
        (Answer(404, {}, b""), "image_not_found"),
        (Answer(429, {}, b""), "registry_answer"),
        (Answer(500, {}, b""), "registry_answer"),
        (Answer(200, {}, b"<html>"), "registry_answer"),
    ],
)
def test_every_refusal_has_a_name_and_a_next_step(answer, kind):
    finding = refused(Registry({f"{HUB}/manifests/v0.32.0": answer}))
    assert finding.id == kind
    assert finding.remedy
    assert "vllm/vllm-openai:v0.32.0" in finding.subject


def test_a_manifest_that_is_not_what_was_asked_is_refused():
    wanted = "sha256:" + "b" * 64
    registry = Registry({f"{HUB}/manifests/{wanted}": Answer(200, {}, LIST)})
    assert refused(registry, f"vllm/vllm-openai@{wanted}").id == "image_digest_wrong"


def test_the_first_image_of_a_platform_counts():
    platform = {"os": "linux", "architecture": "amd64"}
    listed = {"manifests": [{"digest": "sha256:1", "platform": platform}, {"digest": "sha256:2", "platform": platform}]}
    assert [child.digest for child in children_of(listed)] == ["sha256:1"]
