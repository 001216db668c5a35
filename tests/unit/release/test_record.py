# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""The id of a release, and what cannot be one."""

from __future__ import annotations

import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.release.record import (
    HostFacts,
    RecordError,
    content_problems,
    make_record,
    record_from_dict,
    record_to_dict,
    release_id,
)


def test_the_id_is_that_of_the_canonical_content():
    # printf '{"a":"ü","b":[1,null]}' | sha256sum
    assert release_id({"b": [1, None], "a": "ü"}) == "rel-5ddd266d13a5"


def test_the_order_of_keys_does_not_count_and_every_value_does(make_content):
    content = make_content()
    assert release_id(dict(reversed(content.items()))) == release_id(content)
    assert release_id(make_content(port=8001)) != release_id(content)
    assert release_id(make_content(args=[])) != release_id(content)


def test_a_good_content_has_no_problem(make_content):
    assert content_problems(make_content()) == []
    assert content_problems(make_content(gpus=2, user="1000:1000")) == []
    assert content_problems(make_content(gpus=["0", "GPU-1"])) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"port": "8000"}, "content.port is '8000', expected int"),
        ({"port": True}, "content.port is True, expected int"),
        ({"user": 1000}, "content.user is 1000, expected str or null"),
        ({"env": {"A": 1}}, "content.env.A is 1, expected text"),
        ({"args": ["a", 1]}, "content.args holds 1, expected words"),
        ({"args": ["a\0b"]}, "expected words"),
        ({"index_digest": "latest"}, "content.index_digest is 'latest', expected sha256:<hex>"),
        ({"schema": 2}, "content.schema is 2, this tool writes 1"),
        ({"mounts": [{"source": "/a"}]}, "expected source, target and read_only"),
        ({"model": {"kind": "url", "name": "x", "revision": None}}, "expected kind (path or hub), name and revision"),
        ({"colour": "red"}, "content.colour is not known to this tool"),
    ],
)
def test_each_problem_is_named(make_content, change, words):
    assert any(words in problem for problem in content_problems(make_content(**change)))


def test_all_missing_keys_are_listed_at_once():
    with pytest.raises(RecordError) as caught:
        make_record("chat", {}, HostFacts(image_id="none", device_request="rocm"))
    assert len(caught.value.problems) == 19 + 2
    assert any("device_request is 'rocm'" in problem for problem in caught.value.problems)


def test_a_record_comes_back_from_its_file(make_release):
    record = make_release({"secret_names": ("HF_TOKEN",), "uid": 1000, "device_request": "cdi"})
    assert record_from_dict(json.loads(json.dumps(record_to_dict(record)))) == record


def test_an_edited_record_is_noticed(make_release):
    data = record_to_dict(make_release())
    data["content"]["port"] = 9000
    with pytest.raises(RecordError, match="it was edited"):
        record_from_dict(data)


@pytest.mark.parametrize("change", [{"schema": 9}, {"host": {"surprise": 1}}, {"host": None}])
def test_a_record_of_another_shape_is_refused(make_release, change):
    with pytest.raises(RecordError):
        record_from_dict({**record_to_dict(make_release()), **change})
