# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What two services of one host cannot both have."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.parse import parse_services
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError


@pytest.fixture
def pair(service):
    """Judge two services; give the keys of what is wrong with the second."""

    def judge(one, other):
        base = {"gpus": "none", "exposed_without_key": True}
        services = {"a": service(**{**base, **one}), "b": service(**{**base, "port": 8001, **other})}
        try:
            parse_services(services)
        except ServicesError as error:
            assert {problem.service for problem in error.problems} == {"b"}
            assert all("service a" in problem.value for problem in error.problems)
            return [problem.key for problem in error.problems]
        return []

    return judge


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("0.0.0.0", "127.0.0.1", True),
        ("10.0.0.1", "0.0.0.0", True),
        ("::", "127.0.0.1", True),
        ("::", "0.0.0.0", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("::1", "127.0.0.1", False),
    ],
)
def test_one_port_has_one_listener(pair, one, other, clash):
    assert pair({"bind": one}, {"bind": other, "port": 8000}) == (["port"] if clash else [])


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ("all", "none", False),
        ("none", "none", False),
        ("all", "all", True),
        ("all", 1, True),
        ([0], "all", True),
        (1, 1, True),
        (2, [2, 3], False),
        (2, [1], True),
        ([0, 1], [2, 3], False),
        ([0, 1], [1, 2], True),
        (["0:0"], ["0:1"], False),
        (["0:0"], [0], True),
        (["GPU-aaaaaaaa"], ["GPU-bbbbbbbb"], False),
        (["GPU-aaaaaaaa"], ["GPU-aaaaaaaa"], True),
        (["GPU-aaaaaaaa"], [1], True),
        (["GPU-aaaaaaaa"], 1, True),
    ],
)
def test_one_gpu_has_one_service(pair, one, other, clash):
    assert pair({"gpus": one}, {"gpus": other}) == (["gpus"] if clash else [])
    assert pair({"gpus": one, "gpus_shared": True}, {"gpus": other}) == (["gpus"] if clash else [])
    assert pair({"gpus": one, "gpus_shared": True}, {"gpus": other, "gpus_shared": True}) == []


def test_a_service_that_is_to_be_removed_holds_nothing(pair):
    assert pair({"gpus": "all", "state": "absent"}, {"gpus": "all", "port": 8000}) == []
    assert pair({"gpus": "all", "state": "stopped"}, {"gpus": "all", "port": 8000}) == ["port", "gpus"]


@pytest.mark.parametrize(
    "gpus", [0, -1, 65, "2", "al", [], [True], ["x"], [0, 0], [0, "GPU-aaaaaaaa"], {}, 1.5, ["00"]]
)
def test_a_request_that_is_none_is_refused(problems, gpus):
    assert {problem.key for problem in problems(gpus=gpus)} == {"gpus"}


def test_the_nearest_word_is_named(problem):
    assert problem(gpus="All").nearest == "all"
