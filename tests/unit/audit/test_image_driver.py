# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What an image says of its CUDA, and the driver that is too old for it."""

from __future__ import annotations

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.image_driver import (
    DriverHost,
    cuda_of_image,
    judge_driver,
)
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import Version

NEW = Version(0, 32, 0)
REQUIRES = "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471"


@pytest.mark.parametrize(
    ("config", "cuda"),
    [
        ({"Env": ["PATH=/bin", "CUDA_VERSION=13.0.2"], "Labels": None}, "13.0.2"),
        ({"Env": [REQUIRES]}, "12.4"),
        ({"Env": ["CUDA_VERSION=12.9.1", REQUIRES]}, "12.9.1"),
        ({"Env": None, "Labels": {"com.nvidia.cuda.version": "12.8"}}, "12.8"),
        ({"Env": ["CUDA_VERSION=unknown"]}, None),
        ({"Env": ["NVIDIA_REQUIRE_CUDA=brand=tesla"]}, None),
        ({}, None),
    ],
)
def test_the_cuda_of_an_image(config, cuda):
    assert cuda_of_image(config) == cuda


def test_a_driver_that_is_too_old_is_named_with_what_is_needed_and_a_bridge_where_there_is_one():
    found = judge_driver("chat", "13.0.2", DriverHost("570.86.10", "NVIDIA H200"), NEW, {})
    assert (found.id, found.severity, found.subject) == ("DRIVER_TOO_OLD", "error", "chat 580.65.06")
    assert "CUDA 13.0.2, which needs driver 580.65.06 or newer; the host has 570.86.10" in found.message
    assert "VLLM_ENABLE_CUDA_COMPATIBILITY: '1' (forward compatibility, on data-centre GPUs)" in found.remedy
    home = judge_driver("chat", "13.0.2", DriverHost("570.86.10", "NVIDIA GeForce RTX 4090"), NEW, {})
    assert "COMPATIBILITY" not in home.remedy


def test_a_driver_that_is_enough_or_bridged_and_a_cuda_that_is_not_known():
    old = DriverHost("570.86.10", "NVIDIA H200")
    asked = {"VLLM_ENABLE_CUDA_COMPATIBILITY": "1"}
    assert judge_driver("chat", "12.9.1", old, NEW, {}) is None
    assert judge_driver("chat", "13.0.2", DriverHost("580.65.06"), NEW, {}) is None
    assert judge_driver("chat", "13.0.2", old, NEW, asked) is None
    assert judge_driver("chat", "13.0.2", old, Version(0, 16, 0), asked) is not None
    assert judge_driver("chat", "99.1", old, NEW, {}) is None
    assert judge_driver("chat", "13.0.2", DriverHost("unknown"), NEW, {}) is None
