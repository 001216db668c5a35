# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The environment: YAML's traps, what the collection owns, and secrets that are kept out and never repeated."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.judge import Asked, judge
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError

SECRET = "sk-planted-0123456789abcdef"


@pytest.mark.parametrize(
    "written",
    [
        "on",
        "off",
        "yes",
        "no",
        "true",
        "1.0e+3",
        "010",
        "1_000",
        "0x1f",
        "12:30",
        "1.5",
        "7",
        "2026-01-02",
    ],
)
def test_what_yaml_turned_into_something_else_is_refused_with_the_fix(problems, written):
    value = yaml.safe_load(f"A: {written}")["A"]
    (found,) = problems(env={"A": value})
    assert found.key == "env.A"
    assert "quote" in found.allowed


def test_null_is_told_how_an_empty_text_is_written(problem):
    assert 'write A: ""' in problem(env={"A": None}).allowed


def test_texts_pass_as_they_are(parsed):
    env = {"B": "on", "A": "1e3", "EMPTY": "", "QUOTED": 'it\'s "x" $HOME'}
    assert parsed(env=env).env == dict(sorted(env.items()))


@pytest.mark.parametrize("value", [[], {}, ["a"], {"a": "b"}])
def test_a_list_or_a_map_is_no_text(problem, value):
    assert problem(env={"A": value}).allowed.startswith("texts only")


@pytest.mark.parametrize("name", ["1A", "A-B", "A B", "", "Ä", "A=B"])
def test_a_name_that_no_shell_takes_is_refused(problem, name):
    assert "names of letters" in problem(env={name: "x"}).allowed


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("HF_HOME", "the collection sets it"),
        ("VLLM_CACHE_ROOT", "the collection sets it"),
        ("HF_HUB_OFFLINE", "the collection sets it"),
        ("HF_HUB_CACHE", "mounts the cache"),
        ("NVIDIA_VISIBLE_DEVICES", "gpus"),
        ("HF_ENDPOINT", "vllm_hf_endpoint"),
    ],
)
def test_what_the_collection_owns_is_refused(problem, name, place):
    assert place in problem(env={name: "x"}).allowed


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HF_TOKEN", SECRET),
        ("VLLM_API_KEY", SECRET),
        ("OPENAI_API_KEY", 12345678901),
        ("DB_PASSWORD", SECRET),
        ("MY_SECRET", SECRET),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
        ("HTTP_PROXY", "http://me:" + SECRET + "@proxy:3128"),
        ("HARMLESS", SECRET),
    ],
)
def test_a_secret_is_sent_to_vllm_secrets_and_not_repeated(problem, name, value):
    found = problem(env={name: value})
    assert f"vllm_secrets.chat.{name}" in found.allowed
    assert str(value) not in found.line()


@pytest.mark.parametrize("name", ["TOKENIZERS_PARALLELISM", "VLLM_MAX_TOKENS_PER_EXPERT", "HF_TOKEN_PATH", "KEYS"])
def test_names_that_only_look_like_secrets_pass(parsed, name):
    assert parsed(env={name: "x"}).env == {name: "x"}


def test_a_secret_that_no_header_carries_may_hold_every_letter(parsed):
    assert parsed(secrets={"chat": {"LAB_TOKEN": " ü 'a' \"b\" $HOME \\ "}}).secret_names == ("LAB_TOKEN",)


def test_only_names_of_secrets_leave(parsed):
    chat = parsed(secrets={"chat": {"VLLM_API_KEY": SECRET, "HF_TOKEN": "b" * 10}, "other": {"X": 1}})
    assert chat.secret_names == ("HF_TOKEN", "VLLM_API_KEY")
    assert SECRET not in repr(chat)


@pytest.mark.parametrize(
    ("secrets", "allowed"),
    [
        ({"VLLM_API_KEY": 123456789}, "put quotes round it"),
        ({"VLLM_API_KEY": None}, "put quotes round it"),
        ({"VLLM_API_KEY": ""}, "not empty"),
        ({"VLLM_API_KEY": SECRET + "\nX=1"}, "one line"),
        ({"A-B": SECRET}, "names of letters"),
        ({1: SECRET}, "names of letters"),
        ({"HF_HOME": SECRET}, "names of secrets"),
        ({"LD_PRELOAD": SECRET}, "names of secrets"),
        ({"VLLM_API_KEY": "schlüssel-0123456789"}, "HTTP header"),
        ({"HF_TOKEN": "hf-0123456789 "}, "HTTP header"),
        ([SECRET], "a map of variable names"),
        (SECRET, "a map of variable names"),
    ],
)
def test_a_wrong_secret_is_refused_without_its_value(problem, secrets, allowed):
    found = problem(secrets={"chat": secrets})
    assert allowed in found.allowed
    assert "123456789" not in repr(found)
    assert SECRET not in repr(found)


def test_a_name_is_in_one_place_only(problem):
    found = problem(env={"A": "x"}, secrets={"chat": {"A": "y"}})
    assert "one of the two places" in found.allowed


@pytest.mark.parametrize(
    "changes",
    [
        {"env": {"A": "x" + SECRET}},
        {"config": {"hf-overrides": {"a": [SECRET]}}},
        {"docker_args": ["--label", "a=" + SECRET]},
        {"image": f"{SECRET}:v0.26.0"},
        {"model": f"/srv/{SECRET}", "revision": ...},
        {SECRET: 1},
        {"gate": {SECRET: SECRET}},
        {"bind": SECRET},
    ],
)
def test_the_value_of_a_secret_is_found_wherever_a_template_put_it_and_never_said(service, changes):
    asked = Asked({"chat": service(**changes)}, secrets={"chat": {"VLLM_API_KEY": SECRET}}, require_lock=False)
    with pytest.raises(ServicesError) as caught:
        judge(asked)
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(caught.value.problems)
    if not any(key == SECRET or (SECRET in str(value) and key == "gate") for key, value in changes.items()):
        assert any("the value of vllm_secrets.chat.VLLM_API_KEY" in found.value for found in caught.value.problems)


@pytest.mark.parametrize("bind", ["0.0.0.0", "10.0.0.5", "::", "fe80::1"])
def test_nothing_leaves_loopback_without_a_key_unless_it_is_meant(parsed, problem, bind):
    found = problem(bind=bind)
    assert (found.key, found.rank) == ("bind", 0)
    assert "VLLM_API_KEY in vllm_secrets.chat" in found.allowed
    assert parsed(bind=bind, exposed_without_key=True).bind == bind
    assert parsed(bind=bind, secrets={"chat": {"VLLM_API_KEY": "x" * 20}}).bind == bind
    assert parsed(bind=bind, state="absent").state == "absent"
    assert parsed(bind="::1").bind == "::1"
