# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Everything that one host's inventory says, judged together."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.judge import Asked, is_said, judge
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError

IMAGE = "vllm/vllm-openai:v0.26.0"
ENTRY = {"index": "sha256:" + "a" * 64, "platforms": {"linux/amd64": {"digest": "sha256:" + "b" * 64}}}
LOCK = {"schema": 1, "images": {IMAGE: ENTRY}}


def wrong(**asked):
    with pytest.raises(ServicesError) as caught:
        judge(Asked(**asked))
    return list(caught.value.problems)


def test_a_host_without_services_is_fine():
    assert judge(Asked()).services == []


def test_a_locked_service_has_its_release(service):
    (entry,) = judge(Asked({"chat": service()}, lock=LOCK)).services
    assert entry["index_digest"] == ENTRY["index"]


def test_an_image_that_is_not_locked_is_told_the_command(service):
    (found,) = wrong(services={"chat": service(image="vllm/vllm-openai:v0.32.0")}, lock=LOCK)
    assert (found.service, found.key, found.next) == ("chat", "image", "ansible-playbook gpuhosts.vllm.lock")
    assert IMAGE in found.allowed
    judge(Asked({"chat": service(image="vllm/vllm-openai:v0.32.0")}, lock=LOCK, require_lock=False))
    judge(Asked({"chat": service(image="vllm/vllm-openai:v0.32.0", state="absent")}, lock=LOCK))


def test_extra_services_are_laid_over_the_services(service):
    extra = {"chat": {"config": {"max-model-len": 512}}, "more": service(port=8001, gpus="none")}
    services = {"chat": service(config={"dtype": "auto"}, gpus="none")}
    chat, more = judge(Asked(services, extra_services=extra, lock=LOCK)).services
    words = chat["release"]["content"]["args"]
    assert "--dtype" in words and words[words.index("--max-model-len") + 1] == "512"
    assert more["port"] == 8001
    assert len(judge(Asked(None, extra_services=services, lock=LOCK)).services) == 1


@pytest.mark.parametrize("extra", ["chat", ["chat"], 3])
def test_extra_services_that_are_no_map_are_said_with_their_name(service, extra):
    (found,) = wrong(services={"chat": service()}, lock=LOCK, extra_services=extra)
    assert found.line().startswith("vllm_extra_services, (the whole): a ")


@pytest.mark.parametrize("services", ["chat", 3])
def test_services_that_are_no_map_are_said_with_their_name(services):
    assert wrong(services=services, extra_services={})[0].line().startswith("vllm_services, ")


def test_a_missing_lock_is_said_beside_other_faults(service):
    found = wrong(services={"chat": service(port="x")}, defaults={"state": "stopped"}, lock=None)
    assert [problem.key for problem in found] == ["port", "image"]


def test_a_wrong_digest_in_the_lock_is_said(service):
    entry = {**ENTRY, "index": "sha256:123"}
    (found,) = wrong(services={"chat": service()}, lock={"schema": 1, "images": {IMAGE: entry}})
    assert found.service == "vllm.lock.yml"
    assert "is not a digest" in found.value


def test_a_lock_file_that_cannot_be_read_is_said(service):
    (found,) = wrong(services={"chat": service()}, lock_problems=["not YAML"])
    assert (found.service, found.value) == ("vllm.lock.yml", "not YAML")


@pytest.mark.parametrize(
    ("registry", "key", "nearest"),
    [
        ({"miror": "http://hush"}, "miror", "mirror"),
        ({"password": 12345}, "password", None),
        ({"insecure": "hush"}, "insecure", None),
        ([], "(the whole)", None),
    ],
)
def test_the_registry_is_judged_and_never_shown(registry, key, nearest):
    (found,) = wrong(registry=registry)
    assert (found.service, found.key, found.nearest) == ("vllm_registry", key, nearest)
    assert "hush" not in found.line()
    assert "12345" not in found.line()


@pytest.mark.parametrize("endpoint", ["hub.example", "ftp://x", "http://", 5, "http://me:hush@hub", "http://[", ""])
def test_the_endpoint_is_an_address_without_a_login(endpoint):
    (found,) = wrong(hf_endpoint=endpoint)
    assert "hush" not in found.line()
    judge(Asked(hf_endpoint="http://10.212.0.4:8080"))


def test_what_the_audit_finds_wrong_is_a_problem_with_the_key_and_the_way_out(service):
    (found,) = wrong(services={"chat": service(config={"max-modle-len": 1})}, require_lock=False)
    assert (found.service, found.key) == ("chat", "config.max-modle-len")
    assert "FLAG_UNKNOWN" in found.value
    assert "--max-model-len" in found.allowed
    assert "docs/runbooks/audit.md" in found.next
    (found,) = wrong(services={"chat": service(config={"swap-space": 4})}, require_lock=False)
    assert (found.key, "FLAG_REMOVED" in found.value) == ("config.swap-space", True)


def test_what_is_to_be_removed_need_not_be_right(service):
    services = {"chat": service(config={"max-modle-len": 1}, state="absent")}
    assert judge(Asked(services, require_lock=False)).notes == []


def test_a_play_that_starts_nothing_is_not_stopped_by_the_audit(service):
    services = {"chat": service(config={"max-modle-len": 1})}
    notes = judge(Asked(services, require_lock=False, audit_stops=False)).notes
    assert [note.id for note in notes if note.severity == "error"] == ["FLAG_UNKNOWN"]
    assert [is_said(note) for note in notes if note.severity == "error"] == [True]


def test_a_waiver_lets_a_finding_pass_and_is_no_warning(service):
    waiver = {"id": "FLAG_UNKNOWN", "service": "chat", "reason": "our build", "owner": "ada", "until": "2031-05-31"}
    asked = Asked(
        {"chat": service(config={"max-modle-len": 1})}, require_lock=False, waivers=[waiver], today="2031-05-31"
    )
    notes = {note.id: note for note in judge(asked).notes}
    assert notes["FLAG_UNKNOWN"].waived_until == "2031-05-31"
    assert not is_said(notes["FLAG_UNKNOWN"])
    found = wrong(services=asked.services, require_lock=False, waivers=[waiver], today="2031-06-01")
    assert [problem.key for problem in found] == ["config.max-modle-len"]
    found = wrong(services={"chat": service()}, require_lock=False, waivers=[{**waiver, "owner": ""}])
    assert [(problem.service, problem.key) for problem in found] == [("vllm_waivers", "[0].owner")]


def test_a_waiver_of_what_only_the_host_finds_goes_to_the_host(service):
    waiver = {"id": "FLAG_NOT_IN_IMAGE", "service": "chat", "reason": "r", "owner": "ada", "until": "2031-05-31"}
    asked = Asked({"chat": service()}, require_lock=False, waivers=[waiver], today="2031-05-01")
    judged = judge(asked)
    assert judged.services[0]["gate"]["waivers"] == [{"id": "FLAG_NOT_IN_IMAGE", "subject": "", "until": "2031-05-31"}]
    assert [note for note in judged.notes if note.id.startswith("waiver")] == []
    assert "waivers" not in judge(Asked({"chat": service()}, require_lock=False)).services[0]["gate"]


def test_a_service_with_nothing_wrong_is_no_warning(service):
    notes = judge(Asked({"chat": service()}, require_lock=False)).notes
    assert [note.id for note in notes if is_said(note)] == []


def test_the_worst_comes_first(service):
    services = {
        "a": service(bind="0.0.0.0", zz=1),
        "b": service(port=1),
        "c": service(port=1),
    }
    found = wrong(services=services, lock=LOCK)
    assert [problem.key for problem in found] == ["bind", "port", "gpus", "zz"]


def test_too_little_shared_memory_is_said_of_the_key_that_sets_it(service):
    two = service(image="vllm/vllm-openai:v0.32.0", shm_size="64m", config={"tensor-parallel-size": 2})
    (problem,) = wrong(services={"chat": two}, require_lock=False)
    assert (problem.key, problem.allowed) == ("shm_size", "set shm_size: 1g or more")
