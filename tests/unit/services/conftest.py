# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""A service that is right, to be made wrong in one place."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.parse import parse_services
from ansible_collections.gpuhosts.vllm.plugins.module_utils.services.problems import ServicesError

COMMIT = "9c925d64d72725edaf899c6cb9c377fd0709d9c5"


def right(**changes):
    """A service as the example inventory has it, with changes; a key set to ... is taken out."""
    service = {
        "image": "vllm/vllm-openai:v0.26.0",
        "model": "Qwen/Qwen3-8B",
        "revision": COMMIT,
        "port": 8000,
        "config": {"max-model-len": 4096},
        **changes,
    }
    return {key: value for key, value in service.items() if value is not ...}


@pytest.fixture
def service():
    """Make a service definition."""
    return right


@pytest.fixture
def parsed():
    """Judge one service that is right, and give it."""

    def parse(defaults=None, secrets=None, **changes):
        (found,) = parse_services({"chat": right(**changes)}, defaults, secrets)
        return found

    return parse


@pytest.fixture
def problems():
    """Judge one service that is wrong, and give its problems."""

    def judge(defaults=None, secrets=None, **changes):
        with pytest.raises(ServicesError) as caught:
            parse_services({"chat": right(**changes)}, defaults, secrets)
        return list(caught.value.problems)

    return judge


@pytest.fixture
def problem(problems):
    """Judge one service that has one fault, and give it."""

    def judge(**changes):
        (found,) = problems(**changes)
        return found

    return judge
