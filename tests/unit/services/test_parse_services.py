# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Service definitions: what they become, and what each wrong one is told."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.model import Mount
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.parse import parse_services
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError, describe


@pytest.mark.parametrize("nothing", [None, {}])
def test_no_services_are_no_problem(nothing):
    assert parse_services(nothing) == []


def test_defaults_fill_what_nobody_says(parsed):
    chat = parsed()
    assert (chat.bind, chat.gpus, chat.shm_size, chat.state, chat.network) == (
        "127.0.0.1",
        "all",
        "16g",
        "started",
        "bridge",
    )
    assert (chat.gate.deadline_seconds, chat.gate.silence_seconds, chat.gate.soak_seconds) == (None, 120, 60)
    assert str(chat.version) == "0.26.0"
    assert chat.drain_cap_seconds == 120


def test_vllm_defaults_go_under_each_service_key_by_key(parsed):
    defaults = {
        "config": {"max_model_len": 1, "enable_lora": True, "seed": 1},
        "gate": {"soak": "5s", "warmup": 3},
        "after": ["a.mount"],
        "shm_size": "1g",
    }
    chat = parsed(
        defaults, config={"max-model-len": 2, "seed": None}, gate={"soak": "1s"}, after=["b.mount"], shm_size=None
    )
    assert chat.config == {"max-model-len": 2, "enable-lora": True, "seed": None}
    assert (chat.gate.soak_seconds, chat.gate.warmup) == (1, 3)
    assert chat.after == ("b.mount",)
    assert chat.shm_size == "16g"


def test_a_fault_in_the_defaults_is_said_once(service):
    services = {"a": service(gpus=[0]), "b": service(port=2, gpus=[1])}
    with pytest.raises(ServicesError) as caught:
        parse_services(services, {"prot": 1, "shm_size": 16, "env": {"A": "x"}})
    assert [(found.service, found.key) for found in caught.value.problems] == [
        ("vllm_defaults", "prot"),
        ("vllm_defaults", "shm_size"),
    ]


def test_every_door_is_read(parsed):
    chat = parsed(
        mounts=[{"source": "/srv/x/", "target": "/x"}, {"source": "/y", "target": "/y", "read_only": False}],
        ulimits={"memlock": -1, "nofile": "1024:4096"},
        devices=["/dev/infiniband/uverbs0", "/dev/a:/dev/b:rw", "vendor.com/net=0"],
        network="models",
        user="2000:0",
        docker_args=["--cap-add", "SYS_NICE", "--memory=8g", "-h", "name", "--privileged"],
        after=["srv-models.mount", "docker.service"],
        shm_size="2GiB",
        gpus=[0, "1"],
    )
    assert chat.mounts == (Mount("/srv/x", "/x", True), Mount("/y", "/y", False))
    assert dict(chat.ulimits) == {"memlock": "-1", "nofile": "1024:4096"}
    assert len(chat.devices) == 3
    assert (chat.network, chat.user) == ("models", "2000:0")
    assert chat.docker_args[-1] == "--privileged"
    assert chat.after == ("docker.service", "srv-models.mount")
    assert (chat.shm_size, chat.shm_bytes) == ("2g", 2 << 30)
    assert chat.gpus == ("0", "1")


def test_an_unknown_key_is_told_the_nearest_one(problem):
    found = problem(prot=1)
    assert (found.service, found.key, found.nearest) == ("chat", "prot", "port")
    assert "did you mean port?" in found.line()
    assert problem(gate={"sok": "1s"}).nearest == "gate.soak"
    assert problem(mounts=[{"source": "/a", "target": "/b", "readonly": True}]).nearest == "mounts[0].read_only"


def test_all_faults_are_said_at_once(problems):
    found = problems(port="8000", gpus="al", env={"A": True, "B": 1.5}, bind="localhost", zz=1, docker_args=["--rm"])
    assert {problem.key for problem in found} == {"port", "gpus", "env.A", "env.B", "bind", "zz", "docker_args[0]"}
    text = describe(found, "gpu1")
    assert text.count("host gpu1, service chat") == 7
    assert text.count("next: ") == 1


@pytest.mark.parametrize(
    ("changes", "key", "allowed"),
    [
        ({"port": "8000"}, "port", "a whole number, without quotes"),
        ({"port": True}, "port", "a whole number"),
        ({"port": 0}, "port", "1 to 65535"),
        ({"port": 65536}, "port", "1 to 65535"),
        ({"port": ...}, "port", "required"),
        ({"model": ...}, "model", "required"),
        ({"config": []}, "config", "a map"),
        ({"config": "x"}, "config", "a map"),
        ({"mounts": {}}, "mounts", "a list"),
        ({"state": "running"}, "state", "started, stopped, absent"),
        ({"bind": "localhost"}, "bind", "127.0.0.1 for loopback"),
        ({"bind": "::1%lo "}, "bind", "an IP address"),
        ({"gpus_shared": "yes"}, "gpus_shared", "true or false"),
        ({"shm_size": "16"}, "shm_size", "16g"),
        ({"shm_size": "1k"}, "shm_size", "64m to"),
        ({"shm_size": "9999999t"}, "shm_size", "64m to"),
        ({"shm_size": 16}, "shm_size", "a size such as 16g"),
        ({"network": "none"}, "network", "bridge, host"),
        ({"network": "container:x"}, "network", "bridge, host"),
        ({"user": "vllm"}, "user", "as numbers in quotes"),
        ({"user": 120000}, "user", "in quotes"),
        ({"after": ["srv-models"]}, "after[0]", "with its suffix"),
        ({"after": "srv-models.mount"}, "after", "a list"),
        ({"devices": ["/dev/nvidia0"]}, "devices[0]", "key gpus"),
        ({"devices": ["nvidia.com/gpu=0"]}, "devices[0]", "key gpus"),
        ({"devices": ["disk"]}, "devices[0]", "/dev/NAME"),
        ({"devices": [1]}, "devices", "a list of texts"),
        ({"ulimits": {"nofiles": 1}}, "ulimits.nofiles", "nofile"),
        ({"ulimits": {"nofile": "4096:1024"}}, "ulimits.nofile", "soft at most hard"),
        ({"ulimits": {"nofile": True}}, "ulimits.nofile", "a number"),
        ({"gate": {"deadline": "soon"}}, "gate.deadline", "90s, 2m"),
        ({"gate": {"deadline": 0}}, "gate.deadline", "more than 0"),
        ({"gate": {"deadline": "60s", "soak": "60s"}}, "gate.soak", "less than the deadline"),
        ({"gate": {"soak": "48h"}}, "gate.soak", "one day"),
        ({"gate": {"warmup": 101}}, "gate.warmup", "0 to 100"),
        ({"gate": {"kv_floor_tokens": 0}}, "gate.kv_floor_tokens", "above 0"),
        ({"gate": {"golden_prompts": ["x"]}}, "gate.golden_prompts[0]", "a map with prompt (or messages)"),
        ({"gate": {"golden_prompts": [{"prompt": "x"}]}}, "gate.golden_prompts[0]", "one of them at least"),
        ({"gate": {"golden_prompts": [{"contains": "x"}]}}, "gate.golden_prompts[0]", "one of them"),
        (
            {"gate": {"golden_prompts": [{"prompt": "x", "pattern": "(a+)+"}]}},
            "gate.golden_prompts[0].pattern",
            "a regular expression that ends in time",
        ),
        (
            {"gate": {"golden_prompts": [{"prompt": "x", "contains": "y", "max_tokens": 0}]}},
            "gate.golden_prompts[0].max_tokens",
            "1 to 256",
        ),
        (
            {"gate": {"golden_prompts": [{"messages": [{"role": "user"}], "contains": "y"}]}},
            "gate.golden_prompts[0].messages[0]",
            "a map of role and content",
        ),
        (
            {"gate": {"soak": "60s", "deadline": "5m", "progress_deadline": "5m"}},
            "gate.progress_deadline",
            "more than the deadline (300 s)",
        ),
        ({"gate": {"soak": "60s", "progress_deadline": "60s"}}, "gate.progress_deadline", "more than the soak (60 s)"),
        ({"notify": {"command": ["notify"]}}, "notify.command", "the absolute path of a program on the host"),
        ({"notify": {"webhook": "https://u:p@alerts.example.com"}}, "notify.webhook", "without a login in it"),
        ({"notify": {"webhook": "ftp://alerts.example.com"}}, "notify.webhook", "an address such as https"),
        ({"drain": {"cap": "-1s"}}, "drain.cap", "90s, 2m"),
        ({"mounts": ["/a:/b"]}, "mounts[0]", "a map: {source"),
        ({"mounts": [{"source": "a", "target": "/b"}]}, "mounts[0].source", "an absolute path"),
        ({"mounts": [{"target": "/b"}]}, "mounts[0].source", "required"),
        ({"mounts": [{"source": "/a", "target": "/gpuhosts/x"}]}, "mounts[0].target", "outside /gpuhosts"),
        ({"mounts": [{"source": "/a", "target": "/dev/shm"}]}, "mounts[0].target", "outside /gpuhosts"),
        ({"mounts": [{"source": "/etc", "target": "/x"}]}, "mounts[0].source", "secrets and releases lie there"),
        ({"mounts": [{"source": "/var/lib/gpuhosts-vllm/a", "target": "/x"}]}, "mounts[0].source", "secrets"),
        ({"mounts": [{"source": "/a", "target": "/x"}, {"source": "/b", "target": "/x/"}]}, "mounts[1].target", "once"),
        ({"model": "/m", "revision": ..., "mounts": [{"source": "/a", "target": "/m"}]}, "mounts[0].target", "once"),
    ],
)
def test_a_wrong_value_is_told_what_is_allowed(problem, changes, key, allowed):
    found = problem(**changes)
    assert found.key == key
    assert allowed in found.allowed + (found.nearest or "")
    assert found.next.startswith("correct it in the inventory")


@pytest.mark.parametrize(
    ("changes", "key", "allowed"),
    [
        ({"image": "vllm/vllm-openai"}, "image", "without a tag"),
        ({"image": "vllm/vllm-openai:latest"}, "image", "another image every week"),
        ({"image": "vllm/vllm-openai:v0.26.0@sha256:" + "a" * 64}, "image", "without a digest"),
        ({"image": "Vllm/x:v0.26.0"}, "image", "name:tag"),
        ({"image": "-x:v0.26.0"}, "image", "name:tag"),
        ({"image": "vllm/vllm-openai:v0.11.0"}, "image", "0.11.1 and newer"),
        ({"image": "vllm/vllm-openai:v0.11.1rc1"}, "image", "0.11.1 and newer"),
        ({"image": "vllm/vllm-openai:nightly"}, "version", "its tag does not say it"),
        ({"image": "nvcr.io/nvidia/vllm:25.09-py3"}, "version", "its tag does not say it"),
        ({"image": "x/y:nightly", "version": "0.9.2"}, "version", "0.11.1 and newer"),
        ({"image": "x/y:nightly", "version": "new"}, "version", "a vLLM release"),
        ({"version": "0.27.0"}, "version", "the tag v0.26.0 says"),
        ({"version": 0.26}, "version", "in quotes"),
        ({"model": "qwen"}, "model", "a Hugging Face id"),
        ({"model": "../m"}, "model", "a Hugging Face id"),
        ({"model": "a/b/c"}, "model", "a Hugging Face id"),
        ({"model": "/"}, "model", "nothing, because the model is a path"),
        ({"revision": ...}, "revision", "40 hexadecimal digits"),
        ({"revision": "main"}, "revision", "a branch such as main moves"),
        ({"revision": 1234567890123456789}, "revision", "in quotes"),
        ({"model": "/srv/m"}, "revision", "the model is a path"),
    ],
)
def test_image_version_and_model(problems, changes, key, allowed):
    found = problems(**changes)
    assert key in {problem.key for problem in found} or changes.get("model") == "/"
    assert any(allowed in problem.allowed for problem in found)


@pytest.mark.parametrize(
    ("image", "version", "found"),
    [
        ("vllm/vllm-openai:v0.32.0", None, "0.32.0"),
        ("vllm/vllm-openai:v0.32.0-cu129", None, "0.32.0"),
        ("localhost:5000/vllm:0.31.0", None, "0.31.0"),
        ("registry.example:5443/a/b:mine", "0.32.0+cpu", "0.32.0"),
        ("nvcr.io/nvidia/vllm:25.09-py3", "0.11.1", "0.11.1"),
    ],
)
def test_the_release_is_what_the_tag_or_the_key_says(parsed, image, version, found):
    chat = parsed(image=image, version=version)
    assert str(chat.version) == found
    assert chat.image.reference == image


@pytest.mark.parametrize("name", ["Chat", "a b", "-a", "a.", "", "a" * 41, "ü", "a\nb"])
def test_a_name_that_is_no_unit_is_refused(service, name):
    with pytest.raises(ServicesError, match="lower case letters"):
        parse_services({name: service()})


@pytest.mark.parametrize("name", [True, 1, None, 1.5, datetime.date(2026, 1, 1)])
def test_a_name_that_yaml_turned_into_something_else_is_refused(service, name):
    with pytest.raises(ServicesError, match="put it in quotes"):
        parse_services({name: service()})


@pytest.mark.parametrize("whole", [[], "chat", 1, True])
def test_services_that_are_no_map_are_refused(whole):
    with pytest.raises(ServicesError, match="a map of services by name"):
        parse_services(whole)
    with pytest.raises(ServicesError, match="a map of the keys of a service"):
        parse_services({"chat": whole})
    with pytest.raises(ServicesError, match="a map of secrets"):
        parse_services({}, {}, whole)
    with pytest.raises(ServicesError, match="vllm_defaults"):
        parse_services({}, whole)


def test_a_path_may_hold_every_letter_of_one_line(parsed):
    odd = '/srv/a, "b" it\'s $HOME \\n 5% ü'
    chat = parsed(model=odd, revision=..., mounts=[{"source": odd, "target": '/more, "of" it\'s'}])
    assert chat.model.name == odd
    assert [(mount.source, mount.target) for mount in chat.mounts] == [(odd, '/more, "of" it\'s')]
